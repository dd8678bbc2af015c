"""Online clustering: what a step does, and that hard regularisation keeps clusters apart."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from online import OnlineClustering, squared
from regularisers import REGULARISERS
from torch import nn


def test_squared_distances() -> None:
    vectors, centroids = torch.randn(2, 5, 3), torch.randn(4, 3)
    expected = torch.cdist(vectors, centroids.expand(2, 4, 3)) ** 2
    assert torch.allclose(squared(vectors, centroids), expected, atol=1e-4)


def test_a_step_brings_centroids_to_their_rows() -> None:
    rows = torch.tensor([[0.0, 0.0], [0.2, 0.0], [5.0, 5.0], [5.2, 5.0]])
    start = torch.tensor([[1.0, 1.0], [4.0, 4.0]])
    model = OnlineClustering(lambda x: x, start, sigma=0.1, rate=0.05)
    losses = [model.advance(rows) for _ in range(200)]
    assert losses[-1] < 0.1 * losses[0]
    assert model.predict(rows).tolist() == [0, 0, 1, 1]
    expected = torch.tensor([[0.1, 0.0], [5.1, 5.0]])
    assert torch.allclose(model.centroids.detach(), expected, atol=0.05)


def test_centroids_on_the_sphere_stay_there() -> None:
    rows = nn.functional.normalize(torch.randn(30, 4), dim=-1)
    model = OnlineClustering(lambda x: x, rows[:3], sigma=0.1, rate=0.1, on_sphere=True)
    for _ in range(5):
        model.advance(rows, rows)
    assert torch.allclose(model.centroids.norm(dim=-1), torch.ones(3))


def blobs() -> tuple[torch.Tensor, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 5
    # Far from the origin, as pixels are, which are never negative.
    rows = 4 + 2 * rng.normal(size=(5, 8))[truth] + 0.5 * rng.normal(size=(300, 8))
    return torch.from_numpy(rows.astype(np.float32)), truth


def cluster(name: str, seed: int = 0) -> np.ndarray:
    torch.manual_seed(seed)
    rows, _ = blobs()
    network = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))
    model = OnlineClustering(
        network, torch.randn(5, 16), sigma=100.0,
        regulariser=REGULARISERS[name], parameters=network.parameters(), seed=seed,
    )  # fmt: skip
    for _ in range(40):
        for batch in torch.randperm(300).split(100):
            model.advance(rows[batch])
    return np.asarray(model.predict(rows))


def test_without_a_regulariser_everything_collapses_and_with_ours_nothing_does() -> None:
    """Section 4, in the small; at inference no assignment is forced."""
    _, truth = blobs()
    assert np.bincount(cluster("none"), minlength=5).max() > 290
    found = cluster("combination")
    counts = np.bincount(found, minlength=5)
    assert counts.min() >= 30
    table = np.zeros((5, 5))
    np.add.at(table, (found, truth), 1)
    assert table.max(axis=1).sum() / 300 > 0.8


def test_one_seed_one_answer() -> None:
    assert np.array_equal(cluster("concrete-k-means", 3), cluster("concrete-k-means", 3))


def test_a_prior_that_does_not_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="3 positive numbers"):
        OnlineClustering(lambda x: x, torch.randn(3, 2), sigma=1.0, prior=[0.5, 0.5])
