"""Alignment: the map between two distributions, and a model that hears through it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diarize.audio import open_recording
from diarize.features import mfcc
from diarize.training import alignment
from diarize.training.alignment import (
    align,
    covariance_of,
    scatter_of,
    training_covariance,
    transport,
)

from .test_identification import tiny


def covariance(seed: int, scale: float = 1.0) -> np.ndarray:
    rows = np.random.default_rng(seed).standard_normal((200, 32))
    return scale * rows.T @ rows / 200


def test_the_map_takes_one_covariance_to_the_other_and_moves_least() -> None:
    own, reference = covariance(0), covariance(1, 3.0)
    change = transport(own, reference, floor=0.0)
    assert np.allclose(change @ own @ change, reference)
    # Of all maps that do so, optimal transport has the symmetric positive one.
    assert np.allclose(change, change.T)
    assert np.linalg.eigvalsh(change)[0] > 0


def test_what_is_alike_stays_and_small_variances_are_not_blown_up() -> None:
    own = covariance(0)
    assert np.allclose(transport(own, own), np.eye(32))
    silent = own.copy()
    silent[5], silent[:, 5] = 0.0, 0.0
    most = np.sqrt(1 + 1 / alignment.FLOOR)  # of the coefficient with the largest variance
    assert np.linalg.eigvalsh(transport(silent, own))[-1] < most


def test_variances_without_correlation_are_scaled_each_by_itself() -> None:
    own, reference = np.diag(np.linspace(1, 4, 32)), np.diag(np.linspace(9, 4, 32))
    expected = np.sqrt((np.linspace(9, 4, 32) + 0.9) / (np.linspace(1, 4, 32) + 0.9))
    assert np.allclose(transport(own, reference), np.diag(expected))


def test_an_aligned_model_hears_as_if_what_varies_were_mapped() -> None:
    model = tiny()
    with torch.no_grad():
        model.encode.spread.copy_(torch.linspace(1.0, 5.0, 32))
        # The last layer sees frames as they are.
        model.encode.project.weight[:, 2 * model.config.hidden :] = 0.0
    change = transport(covariance(0), covariance(1))
    heard = torch.from_numpy(np.random.default_rng(2).standard_normal((3, 48, 32)))
    aligned = align(model, change)
    average = heard.mean(dim=1, keepdim=True)
    with torch.no_grad():
        expected = model((average + (heard - average) @ torch.from_numpy(change)).float())
        assert torch.allclose(aligned(heard.float()), expected, atol=1e-5)
        assert torch.equal(aligned.compose.w1.weight, model.compose.w1.weight)
    assert not torch.equal(aligned.encode.lstm.weight_ih_l0, model.encode.lstm.weight_ih_l0)


def test_the_covariance_of_recordings(talk, monkeypatch) -> None:
    recording = open_recording(talk)
    speech = np.array([[0.0, 4.0], [5.0, 5.5]])
    scatter, frames = scatter_of(recording, speech)
    samples = np.concatenate(list(recording.blocks()))
    windows = [mfcc(samples[b * 16_000 : (b + 2) * 16_000]).astype(np.float64) for b in (0, 2)]
    rows = np.concatenate([window - window.mean(axis=0) for window in windows])
    assert frames == len(rows)
    assert np.allclose(scatter, rows.T @ rows)
    both = covariance_of([(scatter, frames), (scatter, frames)])
    assert both is not None
    assert np.allclose(both, scatter / frames)
    monkeypatch.setattr(alignment, "MOST", 1)
    assert scatter_of(recording, speech)[1] < frames


@pytest.mark.parametrize("scatters", [[], [(np.zeros((32, 32)), 0)]])
def test_without_speech_there_is_no_covariance(scatters) -> None:
    assert covariance_of(scatters) is None


def test_the_training_speech_is_shipped() -> None:
    values = np.linalg.eigvalsh(training_covariance())
    assert values.shape == (32,)
    assert values[0] > 0
