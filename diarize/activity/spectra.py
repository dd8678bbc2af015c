"""What the network sees of 20 ms of sound: how loud each band is, and which harmonics there are.

Two frames of 64 mel bands, 25 ms long, tell vowels and consonants; in them the harmonics of a deep
voice run together. So beside them stands one narrow spectrum, 64 ms long, of 62 to 2047 Hz, where
two voices at once are two combs.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE
from diarize.features import GAIN, LOG_OFFSET, N_FFT, N_MELS, STEP, log_mel

INSTANT_SAMPLES = 2 * STEP  # of the 20 ms that a row stands for
NARROW = 1024  # samples of the narrow spectrum, 64 ms
HARMONICS = slice(4, 132)  # its bins of 15.6 Hz that are seen
BANDS = 2 * N_MELS + HARMONICS.stop - HARMONICS.start  # numbers in a row
ASIDE = (NARROW - INSTANT_SAMPLES) // 2  # samples that are seen on either side of an instant


class SpectraStream:
    """The spectra of sound that comes in pieces: row t is centred on 20 t + 10 ms."""

    def __init__(self) -> None:
        self._rest = np.zeros(ASIDE, np.float32)

    def push(self, samples: Float32[np.ndarray, "samples"]) -> Float32[np.ndarray, "rows 256"]:
        """Take the samples that follow those of the last call; give the rows they complete."""
        self._rest = np.concatenate([self._rest, samples])
        n = max(0, (len(self._rest) - NARROW) // INSTANT_SAMPLES + 1)
        if not n:
            return np.zeros((0, BANDS), np.float32)
        first = ASIDE - (N_FFT - STEP) // 2  # of the first frame of mel bands
        mel = log_mel(self._rest[first : first + (2 * n - 1) * STEP + N_FFT]).reshape(n, -1)
        rows = np.concatenate([mel, _harmonics(self._rest)], axis=1)  # (n, 256)
        self._rest = self._rest[n * INSTANT_SAMPLES :]
        return rows

    def finish(self) -> Float32[np.ndarray, "rows 256"]:
        """There is no more sound: silence follows."""
        missing = (ASIDE - len(self._rest)) % INSTANT_SAMPLES
        return self.push(np.zeros(ASIDE + missing, np.float32))


def places() -> Float32[np.ndarray, "256"]:
    """Where each number of a row lies between 0 and 8000 Hz, on the mel scale, from -1 to 1."""
    from librosa import hz_to_mel

    bands = np.linspace(-1, 1, N_MELS)
    bins = np.arange(NARROW)[HARMONICS] * (SAMPLE_RATE / NARROW)
    narrow = 2 * hz_to_mel(bins) / hz_to_mel(8000.0) - 1
    return np.concatenate([bands, bands, narrow]).astype(np.float32)


def _harmonics(samples: Float32[np.ndarray, "samples"]) -> Float32[np.ndarray, "rows 128"]:
    """The logarithms of the narrow spectrum's power."""
    from scipy.fft import rfft

    frames = np.lib.stride_tricks.sliding_window_view(samples, NARROW)[::INSTANT_SAMPLES]
    spectrum = rfft(frames * _window())[:, HARMONICS]
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    rows: np.ndarray = np.log(power + np.float32(LOG_OFFSET))
    return rows


@cache
def _window() -> Float32[np.ndarray, "1024"]:
    """The Hann window, `GAIN` included."""
    window: np.ndarray = (GAIN * np.hanning(NARROW + 1)[:-1]).astype(np.float32)  # periodic
    return window
