"""What is no voice is no speech: tones, instruments, machines."""

import numpy as np
import pytest
import soundfile as sf
from scipy.signal import lfilter

from diarize import Diarizer, StreamingDiarizer
from diarize.activity import NetworkActivity
from diarize.activity.rejection import (
    LEAST,
    SUREST,
    LiveRejection,
    _leaking,
    reject_non_voices,
)
from diarize.audio import SAMPLE_RATE, open_recording

SECONDS = 20


def counts_of(speech: np.ndarray) -> np.ndarray:
    """Probabilities of one voice or none."""
    none = 1 - speech
    return np.stack([none, speech, 0 * speech, 0 * speech], axis=1).astype(np.float32)


def music(kind: str) -> np.ndarray:
    """Twenty seconds of a melody, or of one tone."""
    generator = np.random.default_rng(0)
    t = np.arange(SECONDS * SAMPLE_RATE) / SAMPLE_RATE
    if kind == "tone":
        return 0.3 * np.sin(2 * np.pi * 440 * t)
    n = SAMPLE_RATE // 2
    u = t[:n]
    fade = np.minimum(1, np.minimum(u / 0.05, (u[-1] - u) / 0.08))
    notes = []
    for step in generator.choice([0, 2, 4, 5, 7, 9, 11, 12, 14, 16], 2 * SECONDS):
        hertz = 220 * 2 ** (step / 12)
        bent = 2 * np.pi * hertz * (u + 0.0002 * np.sin(2 * np.pi * 5.5 * u))
        notes.append(fade * (np.sin(bent) + 0.2 * np.sin(2 * bent) + 0.05 * np.sin(3 * bent)))
    return 0.3 * np.concatenate(notes)


def sure(value: float, n: int) -> np.ndarray:
    return np.full(n, value, np.float32)


class TestRejectNonVoices:
    def test_a_voice_is_kept_however_weak(self) -> None:
        for network, voiced in ((0.9, 4.0), (0.55, 0.1), (0.95, LEAST)):
            counts = counts_of(np.full(500, network))
            np.testing.assert_array_equal(reject_non_voices(counts, sure(voiced, 500)), counts)

    def test_what_is_no_voice_is_nobody(self) -> None:
        found = reject_non_voices(counts_of(np.full(500, 0.99)), sure(LEAST - 0.01, 500))
        np.testing.assert_array_equal(found, counts_of(np.zeros(500)))

    def test_a_moment_of_doubt_is_kept_among_voices(self) -> None:
        counts = counts_of(np.full(1000, 0.95))
        voiced = sure(3.0, 1000)
        voiced[400:430] = -20.0
        np.testing.assert_array_equal(reject_non_voices(counts, voiced), counts)

    def test_what_is_no_speech_anyhow_stays_as_it_is(self) -> None:
        counts = counts_of(np.full(100, 0.4))
        np.testing.assert_array_equal(reject_non_voices(counts, sure(-5.0, 100)), counts)
        assert reject_non_voices(counts[:0], sure(0.0, 0)).shape == (0, 4)

    def test_a_mean_weighted_by_hand(self) -> None:
        # Three seconds of doubt, each instant of which hears all others with its weight.
        voiced = np.linspace(-9, 7, 150).astype(np.float32)
        i = np.arange(150)
        weights = np.exp(-0.02 / 10.0 * np.abs(i[:, None] - i))
        mean = weights @ np.clip(voiced, -SUREST, SUREST) / weights.sum(axis=1)
        found = reject_non_voices(counts_of(np.full(150, 0.6)), voiced)
        assert 10 < (mean < LEAST).sum() < 140
        np.testing.assert_array_equal(found[:, 0] == 1, mean < LEAST)

    def test_sums_of_an_hour_are_those_of_a_recursion(self) -> None:
        values = np.random.default_rng(0).normal(size=(2, 10_000))
        kept, before = np.exp(-0.02 / 10.0), np.array([2.0, -1.0])
        sums, last = _leaking(values, before)
        expected, _ = lfilter([1.0], [1.0, -kept], values, zi=kept * before[:, None])
        np.testing.assert_allclose(sums, expected, atol=1e-9)
        np.testing.assert_allclose(last, expected[:, -1], atol=1e-9)


class TestLiveRejection:
    def test_the_sizes_of_the_pieces_change_nothing(self) -> None:
        generator = np.random.default_rng(1)
        counts = counts_of(generator.uniform(0.3, 0.9, 600))
        voiced = generator.uniform(LEAST - 3.5, LEAST + 3, 600).astype(np.float32)
        whole, pieces = LiveRejection(), LiveRejection()
        found = [pieces(counts[a : a + 7], voiced[a : a + 7]) for a in range(0, 600, 7)]
        expected = whole(counts, voiced)
        assert 0 < (expected[:, 0] == 1).sum() < 600
        np.testing.assert_array_equal(np.concatenate(found), expected)

    def test_it_begins_with_credit_that_is_soon_spent(self) -> None:
        counts, voiced = counts_of(np.full(500, 0.7)), sure(-2.0, 500)
        nobody = LiveRejection()(counts, voiced)[:, 0] == 1
        assert not nobody[0]
        assert nobody[100:].all()


@pytest.mark.parametrize("kind", ["tone", "melody"])
def test_nobody_speaks_in_music(kind: str, tmp_path) -> None:
    path = tmp_path / "music.wav"
    sf.write(path, music(kind), SAMPLE_RATE)
    assert len(NetworkActivity()(open_recording(path)).regions) == 0
    assert not Diarizer()(path)


def test_a_stream_of_music_is_soon_silent() -> None:
    sound = music("tone").astype(np.float32)
    stream = StreamingDiarizer(latency=2.0)
    turns = [t for a in range(0, len(sound), 8000) for t in stream.push(sound[a : a + 8000])]
    turns += stream.end()
    assert all(turn.start < 5 for turn in turns)
