"""Moves between sets of exemplars against trying all of them."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from diarize.clustering.cap.exemplars import ExemplarSearch
from diarize.clustering.cap.similarity import Similarity

from ..conftest import unit, unit_mean


def world(n=9, d=2, seed=0):
    rows = unit(np.random.default_rng(seed).normal(size=(n, 4)))
    similarity = Similarity(rows, np.ones(n, int), unit_mean, squared=True, set_penalty=0.0)
    return similarity, ExemplarSearch(similarity, d, np.ones(n, bool))


def cost_by_hand(similarity, exemplars, d):
    """Each other row to its best composition, set by set."""
    sets = [c for size in range(1, d + 1) for c in combinations(exemplars, size)]
    scores = np.stack([similarity.of_sets(np.array([c]))[:, 0] for c in sets])
    best = scores.max(axis=0)
    best[list(exemplars)] = 0
    return -best.sum()


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("exemplars", [(4,), (0, 5), (1, 2, 7), (0, 3, 4, 8), tuple(range(9))])
def test_the_cost_is_that_of_the_best_compositions(d, exemplars):
    similarity, search = world(d=d)
    expected = cost_by_hand(similarity, exemplars, d)
    assert search.cost(exemplars) == pytest.approx(expected, abs=1e-5)
    fit = search.assign(exemplars)
    assert fit.cost == pytest.approx(expected, abs=1e-5)
    assert fit.sets.any(axis=0).all()
    for j, row in enumerate(exemplars):
        assert np.flatnonzero(fit.sets[fit.ids[row]]).tolist() == [j]
    total = 0.0
    for i in set(range(9)) - set(exemplars):
        members = np.array(exemplars)[fit.sets[fit.ids[i]]]
        total -= similarity.of_sets(members[None])[i, 0]
    assert total == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_moves_are_the_best_of_their_kind(d):
    similarity, search = world(d=d, seed=3)
    for exemplars in ((), (2,), (1, 6), (0, 3, 7)):
        rest = sorted(set(range(9)) - set(exemplars))
        cost, found = search.add(exemplars)
        best = min(cost_by_hand(similarity, (*exemplars, k), d) for k in rest)
        assert cost == pytest.approx(best, abs=1e-5)
        assert cost == pytest.approx(cost_by_hand(similarity, found, d), abs=1e-5)
        if len(exemplars) > 1:
            cost, found = search.remove(exemplars)
            fewer = list(combinations(exemplars, len(exemplars) - 1))
            assert cost == pytest.approx(
                min(cost_by_hand(similarity, e, d) for e in fewer), abs=1e-5
            )
            assert found in fewer
        if exemplars:
            cost, found = search.exchange(exemplars)
            ways = [(*(e for e in exemplars if e != gone), k) for gone in exemplars for k in rest]
            best = min(cost_by_hand(similarity, e, d) for e in ways)
            assert cost == pytest.approx(best, abs=1e-5)
            assert len(set(found)) == len(exemplars)


def test_polish_keeps_to_its_bounds_and_never_loses():
    _, search = world(n=12)
    for start in ((), (3,), (0, 1, 2, 3, 4, 5)):
        for low, high in ((1, 12), (3, 3), (5, 7), (12, 12)):
            found = search.polish(start, -0.2, low, high)
            assert low <= len(found) <= high
            if low <= len(start) <= high:
                before = search.cost(start) + 0.2 * len(start)
                assert search.cost(found) + 0.2 * len(found) <= before + 1e-9


def test_without_a_price_everybody_is_an_exemplar():
    _, search = world(n=7)
    assert search.polish((2,), 0.0, 1, 7) == tuple(range(7))
    assert len(search.polish((2, 3), -100.0, 1, 7)) == 1
