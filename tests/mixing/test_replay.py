from dataclasses import replace

import numpy as np
import pytest

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.mixing.replay import KINDS, SHORTEST_PAUSE, Replay, Scene, _without_pauses
from diarize.mixing.speech import FRAME
from diarize.mixing.talk import Talk
from diarize.mixing.voices import Voices

PLAIN = replace(
    Scene.of(["close"]), clean=1.0, events=(0.0, 0.0), codec=0.0, telephone=0.0, clipped=0.0,
    quiet=0.0,
)  # fmt: skip
TURNS = [(0.5, 2.0, "A"), (1.5, 3.0, "B"), (2.8, 3.6, "C"), (3.2, 4.0, "A")]
ROOMS = [np.eye(1, 200, 40, dtype=np.float32)]


def hum(pitch, seconds, pauses=False):
    time = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    spoken = (time % 1.0 < 0.6) if pauses else 1.0
    return (1600 * np.sign(np.sin(2 * np.pi * pitch * time)) * spoken).astype(np.int16)


def voices_of(stretches):
    names = np.array([f"s{i}" for i in range(len(stretches))])
    corpora = np.array([f"c{i % 2}" for i in range(len(stretches))])
    return Voices.of(stretches, names, corpora)


@pytest.fixture(scope="module")
def voices():
    return voices_of([hum(90 + 20 * i, 3.0) for i in range(6)])


def replayed(voices, scene=PLAIN, turns=TURNS, seed=0, **options):
    return Replay([Talk.of("talk", turns)], voices, ROOMS, scene=scene, seed=seed, **options)


def test_truth_is_the_turns_where_voices_never_pause(voices):
    replay = replayed(voices)
    samples, active = replay.draw(0, 4.0)
    assert samples.shape == (4 * SAMPLE_RATE,)
    expected = np.zeros((3, 400), bool)
    for begin, end, who in TURNS:
        expected["ABC".index(who), round(begin * 100) : round(end * 100)] = True
    np.testing.assert_array_equal(active, expected)
    overlap = np.maximum(active.sum(axis=0) - 1, 0).sum() / 100
    assert overlap == pytest.approx(replay.talks[0].overlap)


def test_sound_is_where_somebody_speaks(voices):
    samples, active = replayed(voices).draw(0, 5.0)
    loud = np.abs(samples).reshape(-1, FRAME).max(axis=1) > 0.02 * np.abs(samples).max()
    speaks = active.any(axis=0)
    inside = np.convolve(speaks, np.ones(5), "same") == 5
    near = np.convolve(speaks, np.ones(5), "same") > 0
    assert loud[inside].mean() > 0.99
    assert not loud[~near].any()


def test_pauses_of_a_voice_are_no_speech():
    paused = voices_of([hum(90 + 20 * i, 4.0, pauses=True) for i in range(2)])
    _, active = replayed(paused, turns=[(0.0, 4.0, "A")]).draw(0, 4.0)
    edges = np.flatnonzero(np.diff(active[0].astype(int)))
    assert 4 <= len(edges) <= 9  # about four pauses of 0.4 s
    assert 0.5 < active.mean() < 0.75


def test_nobody_speaks_over_himself(voices):
    """Of two turns of one speaker that meet, the later one goes on; the truth knows one voice."""
    turns = [(0.0, 3.0, "A"), (1.0, 4.0, "A")]
    samples, active = replayed(voices, turns=turns).draw(0, 4.0)
    assert active.shape == (1, 400)
    assert active.all()
    rms = np.sqrt(np.square(samples.reshape(4, -1)).mean(axis=1))
    assert rms[1] < 1.5 * rms.min() * 10 ** (3 * PLAIN.turn_gain / 20)
    same = replace(PLAIN, turn_gain=0.0)
    samples, _ = replayed(voices, scene=same, turns=turns).draw(0, 4.0)
    rms = np.sqrt(np.square(samples.reshape(4, -1)).mean(axis=1))
    np.testing.assert_allclose(rms, rms[0], rtol=0.05)


@pytest.mark.parametrize("kind", KINDS)
def test_an_item_depends_on_seed_and_number_alone(voices, kind):
    scene = replace(Scene(), kinds=Scene.of([kind]).kinds, codec=0.0)
    noises = [np.random.default_rng(0).standard_normal(8000).astype(np.float32)]
    first, second = (replayed(voices, scene, seed=3, noises=noises) for _ in range(2))
    first.draw(0, 2.0)
    for one, other in zip(first.draw(1, 2.0), second.draw(1, 2.0), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.array_equal(first.draw(1, 2.0)[0], first.draw(2, 2.0)[0])
    other_seed = replayed(voices, scene, seed=4, noises=noises)
    assert not np.array_equal(first.draw(1, 2.0)[0], other_seed.draw(1, 2.0)[0])


def test_a_stretch_without_talk_is_no_speech(voices):
    samples, active = replayed(voices, scene=Scene(), turns=[(0.0, 0.01, "A")]).draw(0, 2.0)
    assert np.isfinite(samples).all()
    assert not active.any()


def test_voices_are_of_different_speakers(voices):
    twice = voices + voices
    replay = replayed(twice)
    assert replay.n_speakers == 6
    for seed in range(10):
        chosen = replay.choose(4, np.random.default_rng(seed))
        assert len(set(twice.speakers[chosen])) == 4
    one_corpus = replayed(voices, replace(PLAIN, same_corpus=1.0))
    chosen = one_corpus.choose(3, np.random.default_rng(0))
    assert len(set(voices.corpora[chosen])) == 1
    # Where there are fewer voices than speakers, the others are silent.
    assert len(replay.choose(9, np.random.default_rng(0))) == 6


def test_voices_without_speech_are_left_out(voices):
    silent = voices_of([np.zeros(0, np.int16), hum(90, 3.0), hum(120, 0.1)])
    replay = replayed(silent)
    assert replay.n_speakers == 1
    assert replay.draw(0, 4.0)[1].any()
    with pytest.raises(InputError, match="no speech to replay talk with"):
        replayed(voices_of([np.zeros(0, np.int16)]))


def test_kinds_of_scene():
    assert Scene.of(["table"]).kinds == (0.0, 1.0, 0.0, 0.0)
    assert Scene.of(["close", "headsets"]).kinds == (0.5, 0.0, 0.5, 0.0)
    with pytest.raises(InputError, match="scene car: not one of headsets, table"):
        Scene.of(["car"])


@pytest.mark.parametrize("seed", range(10))
def test_short_pauses_are_closed(seed):
    """Against the definition, frame by frame."""
    rng = np.random.default_rng(seed)
    active = np.repeat(rng.random((2, 12)) < 0.5, 13, axis=1)
    expected = active.copy()
    for row, mine in zip(active, expected, strict=True):
        for frame in np.flatnonzero(~row):
            before, after = np.flatnonzero(row[:frame]), np.flatnonzero(row[frame:])
            if len(before) and len(after):
                mine[frame] = frame + after[0] - before[-1] - 1 < SHORTEST_PAUSE
    np.testing.assert_array_equal(_without_pauses(active), expected)
