from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.report import sound
from diarize.report.sound import page_sound


def noise(seconds: float) -> np.ndarray:
    return np.random.default_rng(0).uniform(-0.5, 0.5, round(seconds * SAMPLE_RATE))


def test_peaks_are_the_largest_magnitudes() -> None:
    samples = noise(20.01)
    found = page_sound(open_recording((samples, SAMPLE_RATE)))
    padded = np.pad(np.abs(samples), (0, -len(samples) % 320)).reshape(-1, 320)
    assert np.abs(found.peaks - 255 * padded.max(axis=1)).max() <= 0.5 + 1e-4
    assert (found.start, found.duration) == (0.0, 20.01)


def test_the_sound_is_that_of_the_recording_and_not_late() -> None:
    samples = np.zeros(5 * SAMPLE_RATE)
    samples[2 * SAMPLE_RATE : 2 * SAMPLE_RATE + 30] = 0.9
    found = page_sound(open_recording((samples, SAMPLE_RATE)))
    assert found.mp3 is not None
    assert len(found.mp3) == pytest.approx(5 * 40_000 / 8, rel=0.03)
    decoded, rate = soundfile.read(io.BytesIO(found.mp3))
    assert rate == SAMPLE_RATE
    assert np.abs(decoded).argmax() / rate == pytest.approx(2.0, abs=0.005)


def test_the_same_recording_gives_the_same_bytes() -> None:
    recording = open_recording((noise(1), SAMPLE_RATE))
    assert page_sound(recording).mp3 == page_sound(recording).mp3


def test_a_part_begins_with_itself(talk: Path) -> None:
    found = page_sound(open_recording(talk, start=3.0, end=5.0))
    assert (found.start, found.duration, len(found.peaks)) == (3.0, 2.0, 100)


def test_a_long_recording_is_drawn_with_few_peaks_and_not_embedded(
    monkeypatch: pytest.MonkeyPatch, talk: Path
) -> None:
    monkeypatch.setattr(sound, "MOST_SECONDS", 5)
    monkeypatch.setattr(sound, "MOST_PEAKS", 100)
    found = page_sound(open_recording(talk))
    assert found.mp3 is None
    assert found.duration == pytest.approx(12.0)
    assert len(found.peaks) == 100
    part = page_sound(open_recording(talk, start=6.0))  # whose file is played from its beginning
    assert part.start == 0.0
    assert part.duration == pytest.approx(12.0, abs=0.13)
    assert not part.peaks[:49].any() and part.peaks[52:].any()


def test_without_an_encoder_nothing_is_embedded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soundfile, "check_format", lambda *_: False)
    assert page_sound(open_recording((noise(1), SAMPLE_RATE))).mp3 is None
