"""The paper's g by its matrices, against autograd and the formula."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diarize.clustering.composition import Hadamard, enumerate_sets
from diarize.clustering.hadamard import HadamardPairs
from diarize.embedding.model import Composition

from .conftest import unit


def matrices(p: int) -> tuple[np.ndarray, np.ndarray]:
    return tuple(np.random.default_rng(7).normal(size=(2, p, p)))


def test_pairs_are_the_formula():
    w1, w2 = matrices(4)
    centroids = unit(np.random.default_rng(0).normal(size=(1, 3, 4)))
    composed, _ = HadamardPairs((w1, w2), enumerate_sets(3, 2))(centroids)
    a, b = centroids[0, 0], centroids[0, 2]
    mixed = w1 @ a + w1 @ b + w2 @ (a * b)
    assert np.array_equal(composed[0, :3], centroids[0])
    assert np.allclose(composed[0, 4], mixed / np.linalg.norm(mixed), atol=1e-15)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_way_back_is_that_of_autograd(k):
    g = Composition(6)
    torch.nn.init.normal_(g.w2.weight)
    assert isinstance(g, Hadamard)
    sets = enumerate_sets(k, 2)
    generator = np.random.default_rng(k)
    centroids, weights = generator.normal(size=(3, k, 6)), generator.normal(size=(3, len(sets), 6))
    composed, pullback = HadamardPairs(g.hadamard_matrices(), sets)(centroids)
    leaf = torch.tensor(centroids, requires_grad=True)
    i, j = torch.combinations(torch.arange(k), 2).T
    expected = torch.cat([leaf, g.double()(leaf[:, i], leaf[:, j])], dim=1)
    (gradient,) = torch.autograd.grad((expected * torch.from_numpy(weights)).sum(), leaf)
    assert np.allclose(composed, expected.detach().numpy(), atol=1e-14)
    assert np.allclose(pullback(weights), gradient.numpy(), atol=1e-12)


def test_opposites_that_cancel_stay_where_they_are():
    p = 3
    nothing = HadamardPairs((np.eye(p), np.zeros((p, p))), enumerate_sets(2, 2))
    a = np.eye(p)[:1]
    composed, pullback = nothing(np.stack([np.concatenate([a, -a])]))
    assert np.array_equal(composed[0, 2], np.zeros(p))
    assert np.isfinite(pullback(np.ones((1, 3, p)))).all()
