"""Sets of speakers and where their unions lie, against plain loops."""

from __future__ import annotations

from functools import reduce
from itertools import combinations, permutations

import numpy as np
import pytest
import torch

from diarize.clustering.composition import (
    MOST_COMPOSITIONS,
    PLAIN,
    compose_sets,
    count_compositions,
    examine,
    most_speakers,
)
from diarize.sets import enumerate_sets

from .conftest import unit, unit_mean


def lopsided(a, b):
    """Symmetric, not associative, not a unit vector."""
    return a + b + 0.3 * a * b


def lopsided_unit(a, b):
    total = lopsided(a, b)
    return total / ((total * total).sum(-1, keepdims=True)) ** 0.5


def all_orders(g, parts):
    """The recursion in every order of the parts, one by one."""
    return np.array(
        [reduce(lambda inner, outer: g(outer, inner), order) for order in permutations(parts)]
    )


def test_sets_come_by_size_then_in_lexicographic_order():
    sets = enumerate_sets(4, 3)
    members = [tuple(np.flatnonzero(row).tolist()) for row in sets]
    assert members == [c for size in (1, 2, 3) for c in combinations(range(4), size)]
    assert enumerate_sets(2, 4).tolist() == [[True, False], [False, True], [True, True]]
    assert enumerate_sets(1, 2).shape == (1, 1)


@pytest.mark.parametrize("g", [lopsided, lopsided_unit, np.maximum], ids=lambda g: g.__name__)
def test_larger_sets_are_the_average_over_all_orders(g):
    parts = unit(np.random.default_rng(0).normal(size=(5, 6)))
    for row in enumerate_sets(5, 4):
        members = parts[row]
        expected = all_orders(g, members).mean(axis=0)
        if g is lopsided_unit:
            expected = unit(expected)
        assert np.allclose(compose_sets(g, parts, row[None])[0], expected, atol=1e-12)


def test_only_unit_vectors_are_brought_back_to_the_sphere():
    parts = unit(np.random.default_rng(2).normal(size=(3, 4)))
    everyone = np.ones((1, 3), dtype=bool)
    assert np.linalg.norm(compose_sets(PLAIN["mean"], parts, everyone)) < 0.99
    assert np.isclose(np.linalg.norm(compose_sets(unit_mean, parts, everyone)), 1)


def test_a_pair_is_just_what_g_gives():
    def nearly(a, b):
        return 1.0005 * unit_mean(a, b)

    parts = unit(np.random.default_rng(2).normal(size=(2, 4)))
    composed = compose_sets(nearly, parts, np.ones((1, 2), dtype=bool))
    assert np.allclose(composed[0], nearly(parts[0], parts[1]), atol=1e-12)


def test_orders_that_cancel_leave_no_direction():
    def first_half(a, b):  # three orders, three unit vectors that add up to zero
        return np.where(np.abs(a[:, :1]) > 0, a, b)

    parts = np.array([[1.0, 0.0], [-0.5, 3**0.5 / 2], [-0.5, -(3**0.5) / 2]])
    composed = compose_sets(first_half, parts, np.ones((1, 3), dtype=bool))
    assert np.allclose(composed, 0)


def test_restarts_may_lead_and_sets_may_come_in_any_order():
    generator = np.random.default_rng(3)
    centroids = generator.normal(size=(2, 3, 4, 5))
    sets = enumerate_sets(4, 3)[::-1]
    composed = compose_sets(lopsided, centroids, sets)
    assert composed.shape == (2, 3, len(sets), 5)
    for i in range(2):
        for j in range(3):
            assert np.allclose(composed[i, j], compose_sets(lopsided, centroids[i, j], sets))


def test_a_single_speaker_is_himself_and_nobody_is_refused():
    parts = np.random.default_rng(4).normal(size=(3, 2))
    assert np.array_equal(compose_sets(None, parts, np.eye(3, dtype=bool)), parts)
    with pytest.raises(ValueError, match="nobody"):
        compose_sets(None, parts, np.zeros((1, 3), dtype=bool))
    with pytest.raises(ValueError, match="composition function"):
        compose_sets(None, parts, enumerate_sets(3, 2))


def test_how_g_is_called_is_found_out_by_trying():
    double = torch.nn.Bilinear(4, 4, 4).double()
    single = torch.nn.Bilinear(4, 4, 4)

    class Narrow(torch.nn.Bilinear):
        def forward(self, a, b):
            return super().forward(a.float(), b.float())

    assert examine(double, 4).dtype == torch.float64
    assert examine(single, 4).dtype == torch.float64  # of a copy
    assert next(single.parameters()).dtype == torch.float32
    assert examine(Narrow(4, 4, 4), 4).dtype == torch.float32
    assert examine(lopsided_unit, 4).dtype == torch.float64
    assert examine(np.maximum, 4).torch is None
    assert examine(lambda a, b: torch.as_tensor(a + b).detach(), 4).torch is None  # no gradient
    assert examine(np.maximum, 4).by_value
    assert not examine(lambda a, b: unit(np.maximum(a, b)), 4).by_value


def test_float32_modules_leave_single_speakers_alone():
    g = torch.nn.Bilinear(4, 4, 4)
    parts = np.random.default_rng(5).normal(size=(3, 4))
    composed = compose_sets(g, parts, enumerate_sets(3, 2))
    assert np.array_equal(composed[:3], parts)
    with torch.no_grad():
        pair = g(torch.from_numpy(parts[:1]).float(), torch.from_numpy(parts[1:2]).float())
    assert np.allclose(composed[3], pair.numpy()[0], atol=1e-6)


@pytest.mark.parametrize(
    ("g", "reason"),
    [
        (torch.nn.Bilinear(5, 5, 5), "to vectors of dimension 3: .* got 3 but expected 5"),
        (torch.nn.Bilinear(3, 3, 2), r"shape \(2, 2\)"),
        (lambda a, b: np.hypot(a, b)[:, :2], r"shape \(2, 2\)"),
        (lambda a, b: a @ b, "cannot be applied"),
        (lambda a, b: 1 / 0, "division by zero"),
    ],
)
def test_a_g_that_does_not_fit_is_refused_in_one_line(g, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        compose_sets(g, np.eye(3), enumerate_sets(3, 2))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("high", "d", "expected"), [(30, 2, 9), (5, 2, 5), (30, 3, 6), (0, 2, 1)])
def test_as_many_speakers_as_have_few_sets(high, d, expected):
    assert most_speakers(high, d, 50) == expected


def test_large_sets_are_composed_in_so_many_ways_that_these_count():
    assert most_speakers(30, 12, 5000) == 8
    assert count_compositions(8, 12) <= MOST_COMPOSITIONS < count_compositions(9, 12)
