"""Whether a recording has the narrow band of a telephone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import resample_poly

from diarize.audio import open_recording
from diarize.audio.bandwidth import Bandwidth, is_narrow


def speech_like(seconds: float = 4.0) -> np.ndarray:
    """Noise that falls by 12 dB an octave above 500 Hz, as speech does, and more than that."""
    rng = np.random.default_rng(0)
    spectrum = np.fft.rfft(rng.normal(size=int(seconds * 16_000)))
    frequency = np.fft.rfftfreq(int(seconds * 16_000), 1 / 16_000)
    samples = np.fft.irfft(spectrum / np.maximum(frequency / 500, 1) ** 2)
    return (0.1 * samples / samples.std()).astype(np.float32)


def test_a_telephone_is_narrow_and_a_microphone_is_not() -> None:
    wide = speech_like()
    telephone = resample_poly(wide, 1, 2).astype(np.float32)  # 8 kHz
    assert not is_narrow(open_recording((wide, 16_000)))
    assert is_narrow(open_recording((telephone, 8_000)))
    stored_wide = resample_poly(telephone, 2, 1).astype(np.float32)
    assert is_narrow(open_recording((stored_wide, 16_000)))
    # Levels do not matter, a little noise does not make a wide band.
    noise = 3e-5 * np.random.default_rng(1).normal(size=len(wide)).astype(np.float32)
    assert is_narrow(open_recording((stored_wide + noise, 16_000)))
    assert is_narrow(open_recording((1e-3 * stored_wide, 16_000)))


def test_neither_silence_in_front_nor_an_offset_hides_a_band() -> None:
    wide = speech_like()
    telephone = resample_poly(resample_poly(wide, 1, 2), 2, 1).astype(np.float32)
    silence = np.zeros(125 * 16_000, np.float32)
    assert is_narrow(open_recording((np.concatenate([silence, telephone]), 16_000)))
    assert not is_narrow(open_recording((np.concatenate([silence, wide]), 16_000)))
    assert not is_narrow(open_recording((0.1 * wide + np.float32(0.2), 16_000)))


@pytest.mark.parametrize("samples", [np.zeros(16_000, np.float32), np.zeros(10, np.float32)])
def test_silence_is_not_narrow(samples: np.ndarray) -> None:
    heard = Bandwidth()
    heard.add(samples)
    assert not heard.narrow
