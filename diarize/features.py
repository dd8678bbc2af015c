"""MFCC: one numerical definition, that of librosa or, for batches on a GPU, of torchaudio.

16 kHz mono samples, raised by 30 dB (see `GAIN`); frames of 400 samples (25 ms) under a periodic
Hann window every 160 samples (10 ms), each padded evenly with zeros to 512 points; power spectrum;
64 Slaney mel bands (Slaney norm) from 0 to 8000 Hz; natural logarithm of the band plus 1e-6;
orthonormal DCT-II, the first 32 coefficients. Nothing is centred or padded at the ends: frame t
covers the samples from 160 t to 160 t + 512, so a block's frames do not depend on what surrounds
the block. No `top_db` either, for the same reason. Nothing is subtracted: the embedding takes the
average of a window off and looks at it by itself.

The mel bands are librosa's; what lies before and after them is scipy's, since loading
`librosa.feature` takes as long as diarizing a short recording. Tests hold the whole to it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32

if TYPE_CHECKING:
    import torch

SAMPLE_RATE = 16_000
N_FFT = 512
WINDOW = 400  # samples, 25 ms
STEP = 160  # samples, 10 ms
N_MELS = 64
N_COEFFICIENTS = 32
LOG_OFFSET = 1e-6
GAIN = 32.0  # keeps LOG_OFFSET below the quiet bands of speech at -25 dBFS


def mfcc(samples: Float32[np.ndarray, "*batch samples"]) -> Float32[np.ndarray, "*batch frames 32"]:
    """Compute MFCC of 16 kHz mono; fewer than 512 samples give no frame."""
    from scipy.fft import dct

    coefficients = dct(log_mel(samples), type=2, norm="ortho", overwrite_x=True)
    return np.ascontiguousarray(coefficients[..., :N_COEFFICIENTS])


def log_mel(
    samples: Float32[np.ndarray, "*batch samples"],
) -> Float32[np.ndarray, "*batch frames 64"]:
    """Compute the logarithms of the mel bands, of which MFCC are the cosine transform."""
    from scipy.fft import rfft

    if samples.shape[-1] < N_FFT:
        return np.zeros((*samples.shape[:-1], 0, N_MELS), np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(samples, N_FFT, axis=-1)[..., ::STEP, :]
    spectrum = rfft(frames * _window())
    power = np.square(spectrum.real) + np.square(spectrum.imag)
    bands: np.ndarray = np.log(power @ _mel_bands() + np.float32(LOG_OFFSET))
    return bands


@cache
def _window() -> Float32[np.ndarray, "512"]:
    """The Hann window in the middle of a frame, `GAIN` included."""
    from scipy.signal.windows import hann

    window = GAIN * hann(WINDOW, sym=False)
    return np.pad(window, (N_FFT - WINDOW) // 2).astype(np.float32)


@cache
def _mel_bands() -> Float32[np.ndarray, "257 64"]:
    """The weight of each bin of the spectrum in each band."""
    from librosa.filters import mel

    bands: np.ndarray = mel(sr=SAMPLE_RATE, n_fft=N_FFT, n_mels=N_MELS)
    return np.ascontiguousarray(bands.T, dtype=np.float32)


def torch_mfcc(device: str | torch.device = "cpu") -> torch.nn.Module:
    """Build the same MFCC as a torchaudio module: `(..., samples)` to `(..., 32, frames)`.

    Raises:
        ImportError: torchaudio is not installed, or was built for another torch.
    """
    import torchaudio

    # torchaudio's own offset inside the logarithm is 1e-6, as LOG_OFFSET.
    return torchaudio.transforms.MFCC(
        sample_rate=SAMPLE_RATE,
        n_mfcc=N_COEFFICIENTS,
        dct_type=2,
        norm="ortho",
        log_mels=True,
        melkwargs={
            "n_fft": N_FFT,
            "win_length": WINDOW,
            "hop_length": STEP,
            "center": False,
            "power": 2.0,
            "n_mels": N_MELS,
            "f_max": SAMPLE_RATE / 2,
            "mel_scale": "slaney",
            "norm": "slaney",
        },
    ).to(device)


def subtract_mean(
    windows: Float32[np.ndarray, "*batch frames coefficients"],
) -> Float32[np.ndarray, "*batch frames coefficients"]:
    """Subtract each window's mean over its frames."""
    return windows - windows.mean(axis=-2, keepdims=True)
