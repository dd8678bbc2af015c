"""What networks of others hear, beside the definition of each family."""

from __future__ import annotations

import librosa
import numpy as np
import pytest

from diarize.embedding.front_ends import (
    NORMALISATIONS,
    kaldi_rows,
    nemo_rows,
    sample_rows,
)


@pytest.fixture(scope="module")
def samples() -> np.ndarray:
    rng = np.random.default_rng(0)
    tone = 0.1 * np.sin(2 * np.pi * 200 * np.arange(24_000) / 16_000)
    return (tone + rng.normal(0, 0.02, 24_000)).astype(np.float32)


def kaldi_by_definition(samples: np.ndarray, window: str) -> np.ndarray:
    """Filter banks as Kaldi's documentation defines them, in float64."""
    n, size = 400, 512
    shapes = {
        "povey": (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n) / (n - 1))) ** 0.85,
        "hamming": 0.54 - 0.46 * np.cos(2 * np.pi * np.arange(n) / (n - 1)),
    }
    frames = np.lib.stride_tricks.sliding_window_view(samples.astype(np.float64), n)[::160]
    frames = frames - frames.mean(axis=1, keepdims=True)
    before = np.concatenate([frames[:, :1], frames[:, :-1]], axis=1)
    spectrum = np.fft.rfft((frames - 0.97 * before) * shapes[window], size)

    def mel(hertz: np.ndarray | float) -> np.ndarray:
        return 1127 * np.log(1 + np.asarray(hertz) / 700)

    edges = np.linspace(mel(20.0), mel(8000.0), 82)
    bins = mel(np.arange(size // 2) * 16_000 / size)
    up = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    down = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    bands = np.maximum(0, np.minimum(up, down))
    power = np.abs(spectrum[:, : size // 2]) ** 2
    return np.log(np.maximum(power @ bands.T, np.finfo(np.float32).eps))


@pytest.mark.parametrize("window", ["povey", "hamming"])
@pytest.mark.parametrize("scale", [1.0, 32768.0])
def test_kaldi_s_banks_are_what_its_documentation_says(
    samples: np.ndarray, window: str, scale: float
) -> None:
    pytest.importorskip("kaldi_native_fbank")
    rows = kaldi_rows(80, window, scale).make(samples)
    assert rows.shape == (148, 80) and rows.dtype == np.float32
    np.testing.assert_allclose(rows, kaldi_by_definition(samples * scale, window), atol=2e-3)


@pytest.mark.needs_torchaudio
@pytest.mark.parametrize("window", ["povey", "hamming"])
def test_kaldi_s_banks_are_torchaudio_s(samples: np.ndarray, window: str) -> None:
    pytest.importorskip("kaldi_native_fbank")
    import torch
    from torchaudio.compliance.kaldi import fbank

    expected = fbank(torch.from_numpy(samples)[None], num_mel_bins=80, window_type=window)
    rows = kaldi_rows(80, window, 1.0).make(samples)
    np.testing.assert_allclose(rows, expected.numpy(), atol=2e-3)


def test_nemo_s_bands_are_librosa_s_of_emphasised_sound(samples: np.ndarray) -> None:
    rows = nemo_rows(80).make(samples)
    emphasised = np.append(samples[0], samples[1:] - 0.97 * samples[:-1]).astype(np.float32)
    window = np.hanning(400)
    stft = librosa.stft(emphasised, n_fft=512, hop_length=160, win_length=400, window=window)
    mel = librosa.filters.mel(sr=16_000, n_fft=512, n_mels=80) @ np.abs(stft) ** 2
    expected = np.log(mel + 2.0**-24).T  # frame t is centred on 160 t
    # A row begins with the sample before those that the window covers: the first whole one is off
    # by 1 + 256 samples against a frame in the middle of its 512.
    shifted = nemo_rows(80).make(np.concatenate([np.zeros(257, np.float32), samples]))
    np.testing.assert_allclose(shifted[3:148], expected[3:148], atol=2e-3)
    assert rows.shape == (147, 80)


@pytest.mark.parametrize("kind", ["samples", "kaldi", "nemo"])
def test_rows_know_nothing_of_the_sound_around_them(samples: np.ndarray, kind: str) -> None:
    if kind == "kaldi":
        pytest.importorskip("kaldi_native_fbank")
        rows = kaldi_rows(40, "hamming", 1.0)
    else:
        rows = nemo_rows(80) if kind == "nemo" else sample_rows(2.0)
    whole = rows.make(samples)
    part = rows.make(samples[160 * 20 : 160 * 19 + rows.samples(31)])
    assert part.shape == (30, *rows.shape)
    np.testing.assert_allclose(part, whole[20:50], atol=1e-4)
    assert rows.make(samples[: rows.width - 1]).shape == rows.none().shape
    assert rows.samples(len(whole)) <= len(samples) < rows.samples(len(whole) + 1)


def test_windows_are_normalised_one_by_one() -> None:
    windows = np.random.default_rng(0).normal(3, 2, (4, 50, 8)).astype(np.float32)
    assert NORMALISATIONS["none"](windows) is windows
    np.testing.assert_allclose(NORMALISATIONS["global-mean"](windows).mean(axis=1), 0, atol=1e-5)
    standard = NORMALISATIONS["per_feature"](windows)
    np.testing.assert_allclose(standard.std(axis=1, ddof=1), 1, atol=1e-4)
    assert np.isfinite(NORMALISATIONS["per_feature"](np.zeros((1, 5, 2), np.float32))).all()
