"""Gradients through g, against autograd and differences."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diarize.clustering.gradient import HadamardPairs, SetComposer
from diarize.sets import enumerate_sets

from .conftest import unit, unit_mean


class Net(torch.nn.Module):
    """g of the paper's form on normalised vectors."""

    def __init__(self, p: int, dtype: torch.dtype) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.w1 = torch.nn.Parameter(torch.randn(p, p, generator=generator, dtype=dtype))
        self.w2 = torch.nn.Parameter(torch.randn(p, p, generator=generator, dtype=dtype))

    def forward(self, a, b):
        return torch.nn.functional.normalize((a + b) @ self.w1 + (a * b) @ self.w2, dim=-1)


def numeric_gradient(composer, centroids, weights, step=1e-6):
    gradient = np.zeros_like(centroids)
    for index in np.ndindex(*centroids.shape):
        up, down = centroids.copy(), centroids.copy()
        up[index] += step
        down[index] -= step
        gradient[index] = ((composer(up) - composer(down)) * weights).sum() / (2 * step)
    return gradient


@pytest.mark.parametrize("d", [1, 2, 3, 4])
@pytest.mark.parametrize(
    "g",
    [
        unit_mean,
        Net(3, torch.float64),
        np.maximum,
        lambda a, b: unit(np.maximum(a, b)),
        lambda a, b: np.asarray(a) * np.asarray(b),
    ],
    ids=["torch", "module", "max", "unit-max", "product"],
)
def test_the_pullback_is_the_gradient(g, d):
    generator = np.random.default_rng(d)
    composer = SetComposer(g, enumerate_sets(4, d), 3)
    centroids = generator.random((2, 4, 3)) + 0.1
    composed, pullback = composer.with_pullback(centroids)
    assert np.allclose(composed, composer(centroids), atol=1e-14)
    weights = generator.normal(size=composed.shape)
    expected = numeric_gradient(composer, centroids, weights)
    assert np.allclose(pullback(weights), expected, atol=2e-5)


class Shown(Net):
    """The same, with its matrices in the open."""

    def hadamard_matrices(self):
        return self.w1.detach().double().numpy().T, self.w2.detach().double().numpy().T


@pytest.mark.parametrize("chosen", [[0, 1, 2, 3, 4, 5], [0, 2, 5], [3, 4], [5, 0, 4, 1]])
def test_matrices_in_the_open_give_what_autograd_gives(chosen):
    centroids = unit(np.random.default_rng(0).normal(size=(2, 3, 5)))
    weights = np.random.default_rng(1).normal(size=(2, len(chosen), 5))
    for sets in (enumerate_sets(3, 2)[chosen], enumerate_sets(3, 3)[chosen]):
        plain, shown = (SetComposer(net(5, torch.float64), sets, 5) for net in (Net, Shown))
        composed, pullback = plain.with_pullback(centroids)
        fast, fast_pullback = shown.with_pullback(centroids)
        assert np.allclose(fast, composed, atol=1e-14)
        assert np.allclose(shown(centroids), composed, atol=1e-14)
        assert np.allclose(fast_pullback(weights), pullback(weights), atol=1e-12)


def test_float32_modules_give_gradients_to_their_precision():
    centroids = np.random.default_rng(0).normal(size=(2, 3, 5))
    sets = enumerate_sets(3, 3)
    weights = np.random.default_rng(1).normal(size=(2, len(sets), 5))
    wide = SetComposer(Net(5, torch.float64), sets, 5).with_pullback(centroids)[1](weights)
    narrow_net = Net(5, torch.float64).float()
    narrow = SetComposer(narrow_net, sets, 5).with_pullback(centroids)[1](weights)
    assert np.allclose(narrow, wide, atol=1e-4)
    assert narrow.dtype == np.float64


def test_a_numpy_function_that_answers_float32_is_differentiated_roughly():
    def narrow(a, b):
        return unit(np.asarray(a) + np.asarray(b)).astype(np.float32)

    centroids = unit(np.random.default_rng(0).normal(size=(2, 3, 5)))
    sets = enumerate_sets(3, 2)
    weights = np.random.default_rng(1).normal(size=(2, len(sets), 5))
    exact = SetComposer(unit_mean, sets, 5).with_pullback(centroids)[1](weights)
    rough = SetComposer(narrow, sets, 5).with_pullback(centroids)[1](weights)
    assert np.allclose(rough, exact, atol=0.05)


def test_gradients_do_not_depend_on_the_grad_mode_of_the_caller():
    composer = SetComposer(unit_mean, enumerate_sets(3, 2), 4)
    centroids = np.random.default_rng(0).normal(size=(1, 3, 4))
    expected = composer.with_pullback(centroids)[1](np.ones((1, 6, 4)))
    with torch.no_grad():
        assert np.array_equal(composer.with_pullback(centroids)[1](np.ones((1, 6, 4))), expected)


def test_some_of_the_sets():
    composer = SetComposer(unit_mean, enumerate_sets(3, 2), 4)
    centroids = np.random.default_rng(0).normal(size=(2, 3, 4))
    chosen = np.array([False, True, False, True, False, True])
    assert np.allclose(composer.only(chosen)(centroids), composer(centroids)[:, chosen])


def test_opposites_that_cancel_stay_where_they_are():
    p = 3
    nothing = HadamardPairs((np.eye(p), np.zeros((p, p))), enumerate_sets(2, 2))
    a = np.eye(p)[:1]
    composed, pullback = nothing(np.stack([np.concatenate([a, -a])]))
    assert np.array_equal(composed[0, 2], np.zeros(p))
    assert np.isfinite(pullback(np.ones((1, 3, p)))).all()
