"""Bring the sound of a telephone or a room nearer to what f was trained on, in closed form.

A channel changes how the coefficients of speech scatter within a window. Between two Gaussian
distributions one linear map moves the least: from N(0, C) to N(0, R) it is

    C^-1/2 (C^1/2 R C^1/2)^1/2 C^-1/2

(Peyre, Cuturi, "Computational Optimal Transport", remark 2.31). Nothing is learned but C, of which
a minute of speech holds thousands of frames; who speaks does not matter, and g is not touched. The
map is made part of f's first layer, so that the model has the form of any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from functools import cache
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float64

from diarize.audio import Recording
from diarize.embedding import place_windows
from diarize.embedding.model import CompositionalEmbedding
from diarize.features import N_COEFFICIENTS, mfcc, subtract_mean
from diarize.storage.weights import models_folder, read_weights
from diarize.training.single_speaker import read_spans

WINDOW, SHORTEST = 2.0, 1.0
"""Seconds of a window, as long as those that are clustered, and of one that a region cuts off."""

MOST = 300
"""Windows of a recording that are measured at most, spread over all its speech."""

FLOOR = 0.1
"""Share of the largest variance that is added to all: smaller ones are not stretched into noise."""

Covariance = Float64[np.ndarray, "32 32"]


def speech_file() -> Path:
    """Where the covariance of the training speech lies, with its card."""
    return models_folder() / "features" / "speech.safetensors"


@cache
def training_covariance() -> Covariance:
    """Covariance of the coefficients over windows of the training speech.

    Raises:
        ValueError: the file was overwritten.
    """
    return read_weights(speech_file())[1]["covariance"].numpy().astype(np.float64)


def scatter_of(recording: Recording, speech: Float64[np.ndarray, "m 2"]) -> tuple[Covariance, int]:
    """Measure the coefficients in windows of a recording, each without its mean.

    Returns:
        The sum of the products of coefficients over all frames, and the number of frames;
        stretches shorter than a second are left out.
    """
    windows, _ = place_windows(speech, WINDOW, WINDOW)
    windows = windows[windows[:, 1] - windows[:, 0] >= SHORTEST]
    if len(windows) > MOST:
        windows = windows[np.linspace(0, len(windows) - 1, MOST).round().astype(int)]
    scatter, frames = np.zeros((N_COEFFICIENTS, N_COEFFICIENTS)), 0
    spans = [(float(begin), float(end)) for begin, end in windows]
    for samples in read_spans(recording, [spans])[0]:
        rows = subtract_mean(mfcc(samples)).astype(np.float64)
        scatter += rows.T @ rows
        frames += len(rows)
    return scatter, frames


def covariance_of(scatters: Sequence[tuple[Covariance, int]]) -> Covariance | None:
    """Covariance over recordings; None where they hold no speech to measure."""
    frames = sum(n for _, n in scatters)
    return np.sum([scatter for scatter, _ in scatters], axis=0) / frames if frames else None


def transport(own: Covariance, reference: Covariance, floor: float = FLOOR) -> Covariance:
    """Give the symmetric map that takes one covariance to another.

    Args:
        own: of what is mapped.
        reference: what it is to become.
        floor: share of the reference's largest variance that is added to all variances of both.
    """
    ridge = floor * np.linalg.eigvalsh(reference)[-1] * np.eye(len(reference))
    root = _power(own + ridge, 0.5)
    inverse = np.linalg.inv(root)
    return inverse @ _power(root @ (reference + ridge) @ root, 0.5) @ inverse


def align(model: CompositionalEmbedding, change: Covariance) -> CompositionalEmbedding:
    """Give a model whose LSTM hears what varies in a window as `model`'s hears it after `change`.

    The window's average, which the model reads by itself, is left as it is.
    """
    aligned = deepcopy(model)
    for encoder in aligned.encode.encoders:
        spread = encoder.spread.double().cpu().numpy()
        # What the LSTM reads is x / spread; that of x @ change is (x / spread) @ inner.
        inner = spread[:, None] * change / spread
        first = encoder.lstm.get_parameter("weight_ih_l0")  # (gates, stack * 32 + TIMBRE)
        varying = first[:, : encoder.stack * N_COEFFICIENTS]
        blocks = varying.detach().double().cpu().numpy().reshape(-1, N_COEFFICIENTS)
        with torch.no_grad():
            varying.copy_(torch.from_numpy((blocks @ inner.T).reshape(varying.shape)))
    return aligned


def _power(matrix: Covariance, exponent: float) -> Covariance:
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return (vectors * np.maximum(values, 0.0) ** exponent) @ vectors.T
