"""MFCC: one numerical definition, that of librosa or, for batches on a GPU, of torchaudio.

16 kHz mono samples, raised by 30 dB (see `GAIN`); frames of 400 samples (25 ms) under a periodic
Hann window every 160 samples (10 ms), each padded evenly with zeros to 512 points; power spectrum;
64 Slaney mel bands (Slaney norm) from 0 to 8000 Hz; natural logarithm of the band plus 1e-6;
orthonormal DCT-II, the first 32 coefficients. Nothing is centred or padded at the ends: frame t
covers the samples from 160 t to 160 t + 512, so a block's frames do not depend on what surrounds
the block. No `top_db` either, for the same reason. Nothing is subtracted: the embedding takes the
average of a window off and looks at it by itself.

All of it is librosa's definition, and tests hold it to librosa; but to load librosa takes a quarter
of the time in which a short recording is diarized, so it is not loaded here.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE

if TYPE_CHECKING:
    import torch

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
    bands: np.ndarray = np.log(power @ mel_bands(N_MELS) + np.float32(LOG_OFFSET))
    return bands


@cache
def _window() -> Float32[np.ndarray, "512"]:
    """The Hann window in the middle of a frame, `GAIN` included."""
    window = GAIN * np.hanning(WINDOW + 1)[:-1]  # periodic
    return np.pad(window, (N_FFT - WINDOW) // 2).astype(np.float32)


@cache
def mel_bands(n_mels: int) -> Float32[np.ndarray, "257 n_mels"]:
    """The weight of each bin of the spectrum in each band; `librosa.filters.mel` to the last bit.

    Slaney's scale is linear up to 1000 Hz, 15 mel, and has 27 mel in a factor of 6.4 above. A band
    is a triangle between the centres of its neighbours, of an area of one.
    """
    top = 15 + 27 * np.log(SAMPLE_RATE / 2 / 1000) / np.log(6.4)
    mels = np.linspace(0, top, n_mels + 2)
    log = 1000 * np.exp(np.log(6.4) / 27 * (mels - 15))
    edges = np.where(mels < 15, mels * 200 / 3, log)  # Hz
    bins = np.linspace(0, SAMPLE_RATE / 2, N_FFT // 2 + 1)[:, None]  # Hz
    rise, fall = bins - edges[:-2], edges[2:] - bins
    triangles = np.maximum(0, np.minimum(rise / np.diff(edges)[:-1], fall / np.diff(edges)[1:]))
    heights = 2 / (edges[2:] - edges[:-2])
    return (triangles.astype(np.float32) * heights).astype(np.float32)


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
