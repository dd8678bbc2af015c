"""What nobody is sure of is no speech: tones, instruments, machines."""

import numpy as np
import pytest
import soundfile as sf

from diarize import Diarizer, StreamingDiarizer
from diarize.activity import NetworkActivity
from diarize.activity.belief import LEAST, Belief, believed
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


class TestBelieved:
    def test_what_both_or_one_of_them_is_sure_of_is_believed(self) -> None:
        for network, silero in ((0.9, 0.9), (0.95, 0.1), (0.6, 0.6)):
            counts = counts_of(np.full(500, network))
            found = believed(counts, np.full(500, silero, np.float32))
            np.testing.assert_array_equal(found, counts)

    def test_what_neither_is_sure_of_is_nobody(self) -> None:
        found = believed(counts_of(np.full(500, 0.7)), np.full(500, 0.01, np.float32))
        np.testing.assert_array_equal(found, counts_of(np.zeros(500)))

    def test_weak_speech_is_believed_among_sure_speech(self) -> None:
        speech = np.full(1000, 0.95)
        speech[400:430] = 0.6
        counts = counts_of(speech)
        said = np.where(speech > 0.9, 0.9, 0.0).astype(np.float32)
        np.testing.assert_array_equal(believed(counts, said), counts)

    def test_what_is_no_speech_anyhow_stays_as_it_is(self) -> None:
        counts = counts_of(np.full(100, 0.4))
        np.testing.assert_array_equal(believed(counts, np.zeros(100, np.float32)), counts)
        assert believed(counts[:0], np.zeros(0, np.float32)).shape == (0, 4)

    def test_a_mean_weighted_by_hand(self) -> None:
        # Three seconds of doubt, each instant of which hears all others with its weight.
        sure = np.linspace(0.4, 0.62, 150)
        counts, said = counts_of(np.full(150, 0.6)), (2 * sure - 0.6).astype(np.float32)
        i = np.arange(150)
        weights = np.exp(-0.02 / 10.0 * np.abs(i[:, None] - i))
        mean = weights @ ((1 - counts[:, 0] + said) / 2) / weights.sum(axis=1)
        found = believed(counts, said)
        assert 10 < (mean < LEAST).sum() < 140
        np.testing.assert_array_equal(found[:, 0] == 1, mean < LEAST)


class TestBelief:
    def test_the_sizes_of_the_pieces_change_nothing(self) -> None:
        generator = np.random.default_rng(1)
        counts = counts_of(generator.uniform(0.3, 0.9, 600))
        said = generator.uniform(0, 0.25, 600).astype(np.float32)
        whole, pieces = Belief(), Belief()
        found = [pieces(counts[a : a + 7], said[a : a + 7]) for a in range(0, 600, 7)]
        expected = whole(counts, said)
        assert 0 < (expected[:, 0] == 1).sum() < 600
        np.testing.assert_array_equal(np.concatenate(found), expected)

    def test_it_begins_with_credit_that_is_soon_spent(self) -> None:
        counts, said = counts_of(np.full(500, 0.7)), np.zeros(500, np.float32)
        nobody = Belief()(counts, said)[:, 0] == 1
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
