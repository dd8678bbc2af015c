import numpy as np

from diarize.audio import SAMPLE_RATE
from diarize.mixing import sounds


def test_a_piece_of_a_recording_is_faded():
    noise = np.ones(SAMPLE_RATE * 3, np.float32)
    piece = sounds.recorded(np.random.default_rng(0), [noise])
    assert 0.1 * SAMPLE_RATE <= len(piece) <= 2 * SAMPLE_RATE
    assert (piece[0], piece[-1]) == (0.0, 0.0)
    assert piece.max() == 1.0
    # One shorter than any piece is taken whole.
    assert len(sounds.recorded(np.random.default_rng(0), [noise[:100]])) == 100


def test_events_come_at_their_rate_and_by_the_seed_alone():
    n = 20 * SAMPLE_RATE
    once, again = (sounds.draw_events(np.random.default_rng(1), n, 1.0, []) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    assert once.shape == (n,)
    assert once.any()
    assert not sounds.draw_events(np.random.default_rng(1), n, 0.0, []).any()


def test_recorded_noise_is_one_kind_more():
    noise = [np.full(SAMPLE_RATE, 7.0, np.float32)]
    with_noise = sounds.draw_events(np.random.default_rng(0), 10 * SAMPLE_RATE, 3.0, noise)
    without = sounds.draw_events(np.random.default_rng(0), 10 * SAMPLE_RATE, 3.0, [])
    assert not np.array_equal(with_noise, without)


def test_events_fit_into_short_tracks():
    for seed in range(10):
        track = sounds.draw_events(np.random.default_rng(seed), 800, 60.0, [])
        assert track.shape == (800,)
