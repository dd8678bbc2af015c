"""Algorithm 2 against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from diarize.clustering.cap import maxima
from diarize.clustering.cap.maxima import CompositionScores
from diarize.clustering.cap.similarity import Similarity

from ..conftest import unit, unit_mean

PLENTY = 2**30


def world(n, seed=0, p=4):
    rows = unit(np.random.default_rng(seed).normal(size=(n, p)))
    return Similarity(rows, np.ones(n, int), unit_mean, squared=True, set_penalty=0.0)


def brute_force(similarity, d, delta):
    """gains, without and the best value of all rows, set by set."""
    n = similarity.n_rows
    totals = {
        c: similarity.of_sets(np.array([c]))[:, 0] + delta[:, c].sum(axis=1)
        for size in range(2, d + 1)
        for c in combinations(range(n), size)
    }
    gains, without = np.full((n, n), -np.inf), np.full((n, n), -np.inf)
    for c, values in totals.items():
        for i in range(n):
            if i in c:
                continue
            for k in range(n):
                table = gains if k in c else without
                table[i, k] = max(table[i, k], values[i])
    return gains - delta, without


@pytest.mark.parametrize(("n", "d"), [(3, 2), (4, 2), (9, 2), (4, 3), (5, 3), (8, 3), (7, 4)])
@pytest.mark.parametrize("seed", range(5))
def test_maxima_with_and_without_each_row(n, d, seed):
    similarity = world(n, seed)
    generator = np.random.default_rng(seed)
    delta = np.minimum(generator.normal(-0.3, 0.5, size=(n, n)), 0)
    if seed == 4:  # ties
        delta[:] = 0
    found = CompositionScores(similarity, d, PLENTY).maxima(delta)
    gains, without = brute_force(similarity, d, delta)
    assert np.allclose(found.gains, gains, atol=1e-5)
    assert np.allclose(found.without, without, atol=1e-5)
    assert np.allclose(found.values, (gains + delta).max(axis=1), atol=1e-5)
    assert not found.used.diagonal().any()
    if n > d:
        sizes = found.used.sum(axis=1)
        assert ((sizes >= 2) & (sizes <= d)).all()


@pytest.mark.parametrize("d", [2, 3])
@pytest.mark.parametrize("budget", [1, 600, 4000])
def test_scores_made_on_the_fly_are_those_that_are_kept(d, budget, monkeypatch):
    monkeypatch.setattr(maxima, "CHUNK", 20)
    similarity = world(11)
    delta = -np.random.default_rng(0).random((11, 11))
    kept = CompositionScores(similarity, d, PLENTY)
    made = CompositionScores(similarity, d, budget)
    assert kept.stored and not made.stored
    for _ in range(2):
        for one, other in zip(kept.maxima(delta), made.maxima(delta), strict=True):
            assert np.allclose(one, other, atol=1e-6)
