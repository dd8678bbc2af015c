"""The data sets: digits, idx files, windows of speech; and what is left of them when imbalanced."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from steps.idx import read_idx_pair
from steps.trained import MODEL
from torch import Tensor, nn

WIDTH = 128
"""Dimensions of the encodings (section 4)."""

IMBALANCES = (
    (1.0,) * 10,
    (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.95, 0.9, 0.85, 0.8),
    (1.0, 0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55),
    (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1),
)
"""Shares of ten classes that are kept: all, and imb 1 to 3 of appendix E."""

SPEECH_WINDOW, SPEECH_STEP = 2.0, 1.0  # seconds
FEWEST_WINDOWS = 8  # of a speaker


@dataclass(frozen=True)
class Data:
    """Rows with their classes, and how to build networks for them.

    Attributes:
        x: inputs, (n, ...).
        y: classes from 0, (n,).
        encoder: a new network, inputs to (n, WIDTH).
        decoder: a new network back, for concrete k-means.
    """

    x: Tensor
    y: np.ndarray
    encoder: Callable[[], nn.Module]
    decoder: Callable[[], nn.Module]

    def imbalanced(self, level: int) -> Data:
        """The first rows of each class, as many as appendix E leaves at this level."""
        if level == 0:
            return self
        place = np.zeros(len(self.y), int)
        for c in range(self.y.max() + 1):
            place[self.y == c] = np.arange((self.y == c).sum())
        counts = np.bincount(self.y)
        kept = place < np.round(counts * np.array(IMBALANCES[level]))[self.y]
        return Data(self.x[torch.from_numpy(kept)], self.y[kept], self.encoder, self.decoder)


def digits() -> Data:
    """scikit-learn's 1797 digits of 8 by 8 pixels."""
    from sklearn.datasets import load_digits

    images, labels = load_digits(return_X_y=True)
    return _images(images.reshape(-1, 8, 8) / 16, labels, kernel=3, stride=1)


def idx(folder: Path) -> Data:
    """The training images of MNIST or Fashion-MNIST."""
    images, labels = read_idx_pair(folder, "train")
    return _images(images / 255, labels.astype(int), kernel=5, stride=2)


def _images(images: np.ndarray, labels: np.ndarray, kernel: int, stride: int) -> Data:
    """Two convolutional layers with 6 and 16 filters, and a linear one (section 4)."""
    x = torch.from_numpy(images.astype(np.float32)[:, None])
    size = images.shape[1]
    inner = size
    for _ in range(2):
        inner = (inner - 1) // stride + 1

    def encoder() -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(1, 6, kernel, stride, kernel // 2),
            nn.ReLU(),
            nn.Conv2d(6, 16, kernel, stride, kernel // 2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16 * inner**2, WIDTH),
        )

    return Data(x, labels, encoder, lambda: _decoder((1, size, size)))


def speech(folder: Path, split: str) -> Data:
    """Windows in which one speaker speaks, through f of `train`; a head of two layers on it.

    Speakers with less than `FEWEST_WINDOWS` windows are left out.
    """
    from diarize.audio import SAMPLE_RATE, open_recording
    from diarize.embedding import embed_windows, load_model, place_windows
    from diarize.mixing.speech import by_speaker, find_utterances, read_samples, without_pauses

    model, vectors, labels = load_model(MODEL), [], []
    for files in by_speaker(find_utterances(folder, split)).values():
        spoken = np.concatenate([without_pauses(read_samples(file.path)) for file in files])
        region = np.array([[0.0, len(spoken) / SAMPLE_RATE]])
        windows, _ = place_windows(region, SPEECH_WINDOW, SPEECH_STEP)
        if len(windows) >= FEWEST_WINDOWS:
            recording = open_recording((spoken, SAMPLE_RATE))
            labels.append(np.full(len(windows), len(vectors)))
            vectors.append(embed_windows(model, recording, windows))
    x = torch.from_numpy(np.concatenate(vectors))

    def encoder() -> nn.Module:
        return nn.Sequential(nn.Linear(x.shape[1], WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))

    return Data(x, np.concatenate(labels), encoder, lambda: _decoder((x.shape[1],)))


def _decoder(shape: tuple[int, ...]) -> nn.Module:
    size = int(np.prod(shape))
    return nn.Sequential(
        nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, size), nn.Unflatten(1, shape)
    )
