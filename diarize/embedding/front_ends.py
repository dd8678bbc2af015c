"""What the networks of others hear: samples, filter banks as Kaldi makes them, or as NeMo does.

All give one row every 10 ms that knows only the samples under it; what is taken off a whole window
(its mean) is taken off when the window is there. Kaldi's are made by kaldi-native-fbank.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE
from diarize.embedding.encoder import Rows
from diarize.errors import extra
from diarize.features import N_FFT, STEP, mel_bands, subtract_mean

STACK = 4  # rows: windows come in lengths of 40 ms, and more of them go through together
SHORTEST = 0.5  # seconds; most networks pool over tens of rows
FRAME = 400  # samples, 25 ms
NEMO_EMPHASIS = 0.97
NEMO_GUARD = 2.0**-24  # added to the power before its logarithm


def sample_rows(scale: float) -> Rows:
    """Samples, 160 of them in a row."""

    def make(samples: np.ndarray) -> np.ndarray:
        whole = len(samples) // STEP * STEP
        return samples[:whole].reshape(-1, STEP) * np.float32(scale)

    return Rows(make, STEP, (STEP,), STACK, SHORTEST)


def kaldi_rows(bands: int, window: str, scale: float) -> Rows:
    """Logarithmic mel filter banks of Kaldi: 25 ms every 10 ms, from 20 Hz on, no dither.

    Args:
        bands: how many.
        window: "povey", "hamming" or another that Kaldi has.
        scale: of the samples: 1 where they lie between -1 and 1, 32768 for 16-bit numbers.

    Raises:
        InputError: kaldi-native-fbank is not installed.
    """
    knf = extra("kaldi_native_fbank", "Kaldi's filter banks need kaldi-native-fbank", "onnx")
    options = knf.FbankOptions()
    options.frame_opts.samp_freq = SAMPLE_RATE
    options.frame_opts.dither = 0.0
    options.frame_opts.window_type = window
    options.mel_opts.num_bins = bands

    def make(samples: np.ndarray) -> np.ndarray:
        banks = knf.OnlineFbank(options)
        banks.accept_waveform(SAMPLE_RATE, samples * np.float32(scale))
        rows = [banks.get_frame(row) for row in range(banks.num_frames_ready)]
        return np.stack(rows) if rows else np.zeros((0, bands), np.float32)

    return Rows(make, FRAME, (bands,), STACK, SHORTEST)


def nemo_rows(bands: int) -> Rows:
    """NeMo's `AudioToMelSpectrogramPreprocessor`: pre-emphasis, symmetric Hann window, log power.

    NeMo pads the ends of a clip; here windows are cut out of a recording, which goes on.
    """

    def make(samples: np.ndarray) -> np.ndarray:
        from scipy.fft import rfft

        if len(samples) <= N_FFT:
            return np.zeros((0, bands), np.float32)
        emphasised = samples[1:] - np.float32(NEMO_EMPHASIS) * samples[:-1]
        frames = np.lib.stride_tricks.sliding_window_view(emphasised, N_FFT)[::STEP]
        spectrum = rfft(frames * _nemo_window())
        power = np.square(spectrum.real) + np.square(spectrum.imag)
        found: np.ndarray = np.log(power @ mel_bands(bands) + np.float32(NEMO_GUARD))
        return found

    return Rows(make, N_FFT + 1, (bands,), STACK, SHORTEST)


def as_it_is(windows: Float32[np.ndarray, "b rows ..."]) -> Float32[np.ndarray, "b rows ..."]:
    """Nothing is taken off."""
    return windows


def standardised(windows: Float32[np.ndarray, "b rows n"]) -> Float32[np.ndarray, "b rows n"]:
    """Bring each band of a window to mean 0 and deviation 1 ("per_feature"), as NeMo does."""
    deviation = windows.std(axis=1, ddof=1, keepdims=True) + np.float32(1e-5)
    return subtract_mean(windows) / deviation


NORMALISATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "": as_it_is,
    "none": as_it_is,
    "NA": as_it_is,
    "global-mean": subtract_mean,
    "per_feature": standardised,
}
"""By the name that a network's metadata gives them."""


@cache
def _nemo_window() -> Float32[np.ndarray, "512"]:
    return np.pad(np.hanning(FRAME), (N_FFT - FRAME) // 2).astype(np.float32)
