import numpy as np
import pytest

from diarize.errors import InputError
from diarize.mixing.conversation import ConversationConfig, Supply, simulate_conversation

QUIET = ConversationConfig(seconds=40.0, room=0.0, snr=None, gain=0.0, level=(-20.0, -20.0))


def talk(rng: np.random.Generator, seconds: float, pitch: float) -> np.ndarray:
    """A hum with a pause of 0.2 s after each 1.3 s: stands for speech."""
    time = np.arange(round(seconds * 16_000)) / 16_000
    hum = np.sign(np.sin(2 * np.pi * pitch * time)) * (time % 1.5 < 1.3)
    return (hum * rng.uniform(0.05, 0.2)).astype(np.float32)


def speakers(seconds: float = 30.0, count: int = 3) -> dict[str, list[np.ndarray]]:
    rng = np.random.default_rng(0)
    return {f"s{i}": [talk(rng, seconds, 100 + 40 * i)] for i in range(count)}


def test_the_same_seed_makes_the_same_conversation():
    made = [
        simulate_conversation(speakers(), QUIET, np.random.default_rng(5), uri="x")
        for _ in range(2)
    ]
    np.testing.assert_array_equal(made[0][0], made[1][0])
    assert made[0][1] == made[1][1]
    assert not np.array_equal(
        made[0][0], simulate_conversation(speakers(), QUIET, np.random.default_rng(6))[0]
    )


@pytest.mark.parametrize("seed", range(5))
def test_the_reference_is_where_the_sound_is(seed):
    audio, reference = simulate_conversation(speakers(), QUIET, np.random.default_rng(seed))
    frames = np.abs(audio[: len(audio) // 160 * 160]).reshape(-1, 160).max(axis=1) > 0.001
    said = np.zeros(len(frames), bool)
    for segment in reference.itersegments():
        said[round(segment.start * 100) : round(segment.end * 100)] = True
    # Pauses of up to 0.3 s inside a turn are part of it; sound outside of turns there is none.
    assert (frames & ~said).mean() < 0.01
    assert (said & ~frames).mean() < 0.2


@pytest.mark.parametrize("wanted", [0.0, 0.08, 0.2])
def test_overlap_is_about_what_was_asked(wanted):
    shares = []
    for seed in range(6):
        config = ConversationConfig(seconds=60.0, overlap=wanted)
        _, reference = simulate_conversation(speakers(40), config, np.random.default_rng(seed))
        speech = reference.get_timeline().support().duration()
        shares.append(reference.get_overlap().duration() / speech)
    assert np.mean(shares) == pytest.approx(wanted, abs=0.03)


def test_everybody_is_heard_and_no_sample_clips():
    audio, reference = simulate_conversation(speakers(), QUIET, np.random.default_rng(1))
    assert set(reference.labels()) == {"s0", "s1", "s2"}
    assert np.abs(audio).max() < 1.0
    assert 35 < len(audio) / 16_000 < 50


def test_speech_is_used_once_and_bounds_the_length():
    audio, reference = simulate_conversation(speakers(4.0), QUIET, np.random.default_rng(1))
    assert len(audio) / 16_000 < 20
    for label in reference.labels():
        assert reference.label_duration(label) <= 4.0


def test_one_speaker_never_overlaps():
    _, reference = simulate_conversation(speakers(count=1), QUIET, np.random.default_rng(1))
    assert reference.get_overlap().duration() == 0


def test_silence_makes_no_conversation():
    with pytest.raises(InputError, match="no speech"):
        simulate_conversation(
            {"a": [np.zeros(16_000, np.float32)]}, QUIET, np.random.default_rng(0)
        )


def test_a_supply_gives_each_sample_once_and_stops_in_pauses():
    samples = talk(np.random.default_rng(0), 12.0, 120.0)
    supply, given = Supply([samples]), []
    while (piece := supply.take(3.0)) is not None:
        assert piece[1][0] and piece[1][-1]
        assert len(piece[0]) == 160 * len(piece[1])
        given.append(len(piece[1]) / 100)
    assert all(abs(seconds - 2.8) < 0.1 or seconds < 2 for seconds in given)
    assert sum(given) <= 12.0
