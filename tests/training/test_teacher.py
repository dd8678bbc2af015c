"""The teacher's vectors, with a stand-in for the teacher."""

from __future__ import annotations

import dataclasses
import sys
from types import ModuleType

import numpy as np
import pytest
import torch

from diarize.mixing.voices import Voices
from diarize.training.teacher import PARTIAL, STRETCHES, teach, whiten


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A teacher whose vectors are a voice's mean spectrum; fills a list of how much it heard."""
    counts: list[int] = []

    class VoiceEncoder:
        def __init__(self, device: str, verbose: bool) -> None:
            assert device == "cpu"

        def __call__(self, mels: torch.Tensor) -> torch.Tensor:
            counts.append(len(mels))
            assert mels.shape[1:] == (PARTIAL, 40)
            return torch.nn.functional.normalize(mels.mean(dim=1), dim=-1)

    def wav_to_mel_spectrogram(samples: np.ndarray) -> np.ndarray:
        # One frame more than asked for, as the real one gives.
        frames = np.lib.stride_tricks.sliding_window_view(np.pad(samples, 200), 400)[::160]
        return np.abs(np.fft.rfft(frames, axis=1))[:, 1:41].astype(np.float32)

    package, audio = ModuleType("resemblyzer"), ModuleType("resemblyzer.audio")
    package.VoiceEncoder = VoiceEncoder  # type: ignore[attr-defined]
    audio.wav_to_mel_spectrogram = wav_to_mel_spectrogram  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "resemblyzer", package)
    monkeypatch.setitem(sys.modules, "resemblyzer.audio", audio)
    return counts


def test_every_voice_gets_a_place(hums: Voices, heard: list[int]) -> None:
    told = []
    taught = teach(hums, lambda *progress: told.append(progress))
    for vectors in (taught.heard, taught.targets):
        assert vectors is not None
        assert vectors.shape == (10, 40)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    np.testing.assert_array_equal(taught.samples, hums.samples)
    assert heard == [2] * 10  # of 4 s, stretches of 1.6 s
    assert told[0] == ("teacher", 1, 10)
    # The places of different voices spread around the origin, those that were heard do not.
    others = ~np.eye(10, dtype=bool)
    assert (taught.heard @ taught.heard.T)[others].mean() > 0.3
    assert abs((taught.targets @ taught.targets.T)[others].mean()) < 0.2


def test_short_voices_are_repeated_and_long_ones_sampled(hums: Voices, heard: list[int]) -> None:
    ends = np.array([hums.starts[0] + 8_000, len(hums.samples)])
    two = dataclasses.replace(hums[np.array([0, 1])], ends=ends)
    assert teach(two).heard.shape == (2, 40)
    assert heard == [1, STRETCHES]


def test_directions_in_which_one_voice_varies_count_less() -> None:
    rng = np.random.default_rng(0)
    corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], np.float32)
    owner = np.repeat(np.arange(4), 100)
    varied = rng.normal(0, [0.1, 3.0], (400, 2))
    for voice in range(4):  # so that the means are the corners
        varied[owner == voice] -= varied[owner == voice].mean(axis=0)
    every = (corners[owner] + varied).astype(np.float32)
    mapped = whiten(corners, every, owner)
    np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(np.sign(mapped), np.sign(corners))
    # within-voice variances v1 << v2, shrunk by their mean m: (v1 + m) : (v2 + m) is 1 : 3
    np.testing.assert_allclose(np.abs(mapped[:, 0]) / np.abs(mapped[:, 1]), np.sqrt(3), rtol=0.02)


def test_the_mean_is_taken_off() -> None:
    rng = np.random.default_rng(1)
    means = rng.normal(0, 1, (6, 3)).astype(np.float32)
    owner = np.repeat(np.arange(6), 50)
    noise = rng.normal(0, 0.2, (300, 3)).astype(np.float32)
    here = whiten(means, means[owner] + noise, owner)
    far = whiten(means + 5, means[owner] + 5 + noise, owner)
    np.testing.assert_allclose(here, far, atol=1e-3)
