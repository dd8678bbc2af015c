"""Voices with other formants and another pitch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import parselmouth
import pytest

from diarize.mixing.speech import Utterance
from diarize.mixing.voices import LOUDNESS, Voices, collect_voices
from diarize.training.shifts import SHIFTS, change_voice, shifted_voices


@pytest.fixture(scope="module")
def voices(talk: Path) -> Voices:
    spoken = collect_voices([Utterance(talk, "a", "x")], (1.0,))
    return Voices(
        spoken.samples[: 4 * 16_000],
        spoken.starts,
        np.array([4 * 16_000]),
        spoken.speakers,
        spoken.corpora,
    )


def pitch(samples: np.ndarray) -> float:
    sound = parselmouth.Sound(samples.astype(np.float64), 16_000)
    return float(parselmouth.praat.call(sound.to_pitch(), "Get quantile", 0, 0, 0.5, "Hertz"))


def test_pitch_moves_by_the_factor_and_tempo_stays(voices: Voices) -> None:
    speech = voices.stretch(0)
    higher = change_voice(speech, 1.0, 1.2)
    assert pitch(higher) == pytest.approx(1.2 * pitch(speech), rel=0.06)
    assert len(higher) == pytest.approx(len(speech), rel=0.01)


def test_formants_move_while_the_pitch_stays(voices: Voices) -> None:
    speech = voices.stretch(0)

    def centroid(samples: np.ndarray) -> float:
        power = np.square(np.abs(np.fft.rfft(samples)))
        hertz = np.fft.rfftfreq(len(samples), 1 / 16_000)
        return float((power * hertz).sum() / power.sum())

    longer, shorter = change_voice(speech, 0.85, 1.0), change_voice(speech, 1.15, 1.0)
    assert centroid(longer) < 0.97 * centroid(speech) < centroid(shorter)
    for changed in (longer, shorter):
        assert pitch(changed) == pytest.approx(pitch(speech), rel=0.06)


def test_what_has_no_pitch_is_taken_as_it_is() -> None:
    noise = np.random.default_rng(0).normal(0, 0.01, 16_000).astype(np.float32)
    np.testing.assert_array_equal(change_voice(noise, 1.1, 1.2), noise)


def test_new_voices_of_every_speaker(voices: Voices) -> None:
    steps: list[float] = []
    new = shifted_voices(voices, 0, lambda *step: steps.append(step[1]))
    assert len(new) == len(SHIFTS) and steps == [1]
    assert set(new.speakers) == {"a"} and set(new.corpora) == {"x"}
    for v in range(len(new)):
        loudness = np.sqrt(np.square(new.stretch(v), dtype=np.float64).mean())
        assert loudness == pytest.approx(LOUDNESS, rel=0.1)
    again = shifted_voices(voices, 0)
    np.testing.assert_array_equal(new.samples, again.samples)
    assert not np.array_equal(new.samples, shifted_voices(voices, 1).samples)
