"""S against distances row by row."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from diarize.clustering.cap.similarity import Similarity
from diarize.clustering.composition import compose_sets

from ..conftest import unit_mean


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("squared", [True, False])
@pytest.mark.parametrize("unit", [1.0, 3e-4, 7e5])
def test_it_is_minus_the_distance(size, squared, unit):
    generator = np.random.default_rng(size)
    rows = unit * (5 + generator.normal(size=(6, 4)))
    weights = np.array([1, 2, 1, 1, 3, 1])
    similarity = Similarity(rows, weights, np.maximum, squared=squared, set_penalty=0.3 * unit**2)
    sets = np.array(list(combinations(range(6), size)))
    membership = np.zeros((len(sets), 6), dtype=bool)
    np.put_along_axis(membership, sets, True, axis=1)
    centers = compose_sets(np.maximum, rows, membership)
    expected = ((rows[:, None] - centers) ** 2).sum(axis=2) + 0.3 * unit**2 * (size - 1)
    expected = weights[:, None] * (expected if squared else np.sqrt(expected))
    found = similarity.of_sets(sets) * similarity.scale
    assert np.allclose(found, -expected, rtol=1e-5, atol=1e-5 * expected.max())
    some = similarity.of_sets(sets, slice(2, 5)) * similarity.scale
    assert np.allclose(some, found[2:5])


def test_compositions_that_are_not_defined_are_far():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    similarity = Similarity(rows, np.ones(3, int), unit_mean, squared=True, set_penalty=0.0)
    scores = similarity.of_sets(np.array([[0, 1], [0, 2]]))
    assert np.isneginf(scores[:, 0]).all()
    assert np.isfinite(scores[:, 1]).all()


def test_singles_leave_the_diagonal_to_the_preference():
    rows = np.random.default_rng(0).normal(size=(5, 3))
    similarity = Similarity(rows, np.ones(5, int), None, squared=True, set_penalty=0.0)
    expected = -((rows[:, None] - rows) ** 2).sum(axis=2)
    assert np.allclose(similarity.singles * similarity.scale, expected, atol=1e-5)
    assert (similarity.singles.diagonal() == 0).all()
