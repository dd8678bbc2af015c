"""Rows at their nearest centers, and their sufficient statistics, against distances row by row."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.clustering import nearest
from diarize.clustering.geometry import cluster_means, lie_on_sphere
from diarize.clustering.nearest import Nearest
from diarize.sets import squared_distances, to_sphere

from .conftest import unit


def all_distances(rows, centers, offsets):
    """Shape (r, n, m)."""
    return ((rows[None, :, None] - centers[:, None]) ** 2).sum(-1) + offsets


@pytest.fixture
def case():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(60, 4)) + 100  # far from zero: float32 must not suffer
    return rows, rows[generator.integers(60, size=(3, 5))], generator.random(5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("block", [1, 77, 2**23])
def test_rows_go_to_the_nearest_center(case, dtype, block, monkeypatch):
    monkeypatch.setattr(nearest, "BLOCK_SCORES", block)
    rows, centers, offsets = case
    rows = rows.astype(dtype)
    found = Nearest(rows, 3, 5)
    assert found.update(centers, offsets).tolist() == [60, 60, 60]
    distances = all_distances(rows.astype(np.float64), centers, offsets)
    assert np.array_equal(found.labels, distances.argmin(-1))
    assert found.update(centers, offsets).tolist() == [0, 0, 0]


def test_counts_sums_and_objective_follow_the_rows(case):
    rows, centers, offsets = case
    found = Nearest(rows, 3, 5)
    every = np.arange(3)
    for shift in (0.0, 0.3, -0.5):
        found.update(centers + shift, offsets)
        distances = all_distances(rows, centers + shift, offsets)
        assert np.array_equal(found.labels, distances.argmin(-1))
        assert np.allclose(
            found.objective(centers + shift, offsets, every), distances.min(-1).sum(-1)
        )
        for r in range(3):
            assert np.array_equal(found.counts[r], np.bincount(found.labels[r], minlength=5))
            member = found.labels[r][:, None] == np.arange(5)
            assert np.allclose(found.sums[r], member.T.astype(float) @ (rows - rows.mean(axis=0)))
            own = ((rows - (centers[r] + shift)[found.labels[r]]) ** 2).sum(-1)
            assert np.allclose(found.distances(centers[r] + shift, r), own)


def test_only_the_named_restarts_move(case):
    rows, centers, offsets = case
    found = Nearest(rows, 3, 5)
    found.update(centers[[2]], offsets, np.array([2]))
    assert (found.labels[:2] == -1).all()
    assert found.counts.sum(axis=1).tolist() == [0, 0, 60]


def test_a_far_row_does_not_hold_the_others_where_they_are():
    rows = np.random.default_rng(0).normal(size=(200, 4)).astype(np.float32)
    rows[0] = 3000, 0, 0, 0
    found = Nearest(rows, 1, 5)
    for first in (1, 20):
        centers = rows[first : first + 5].astype(np.float64)[None]
        found.update(centers, np.zeros(5))
        assert np.array_equal(found.labels, all_distances(rows, centers, np.zeros(5)).argmin(-1))


def test_the_objective_of_rows_on_their_centers_is_not_below_zero():
    centers = 10 * np.random.default_rng(0).normal(size=(1, 3, 5))
    found = Nearest(np.repeat(centers[0], 20, axis=0), 1, 3)
    found.update(centers, np.zeros(3))
    assert 0 <= found.objective(centers, np.zeros(3), np.zeros(1, np.int64))[0] < 1e-9


def test_ties_go_to_the_first_center_and_then_rows_stay():
    rows = np.array([[0.0], [1.0], [2.0]])
    found = Nearest(rows, 1, 2)
    found.update(np.array([[[0.0], [2.0]]]), np.zeros(2))
    assert found.labels.tolist() == [[0, 0, 1]]
    found.update(np.array([[[2.0], [0.0]]]), np.zeros(2))
    assert found.labels.tolist() == [[1, 0, 0]]  # the row in the middle gains nothing


def test_a_row_moved_by_hand_takes_its_weight_along(case):
    rows, centers, offsets = case
    found = Nearest(rows, 3, 5)
    found.update(centers, offsets)
    found.relabel(1, 7, 4)
    assert found.labels[1, 7] == 4
    assert np.array_equal(found.counts[1], np.bincount(found.labels[1], minlength=5))
    distances = all_distances(rows, centers, offsets)[1]
    expected = distances[np.arange(60), found.labels[1]].sum()
    assert np.isclose(found.objective(centers, offsets, np.arange(3))[1], expected)
    found.keep(np.array([1]))
    assert found.labels.shape == (1, 60)
    assert np.isclose(found.objective(centers[[1]], offsets, np.arange(1))[0], expected)


def test_means_are_unit_vectors_where_the_rows_are():
    generator = np.random.default_rng(0)
    rows = unit(generator.normal(size=(20, 3)))
    labels = np.arange(20) % 4
    means = np.array([rows[labels == j].mean(axis=0) for j in range(4)])
    assert np.allclose(cluster_means(rows, labels, 4), unit(means))
    assert np.allclose(cluster_means(2 * rows, labels, 4), 2 * means)


def test_the_sphere():
    rows = unit(np.random.default_rng(0).normal(size=(50, 7)))
    assert lie_on_sphere(rows)
    assert lie_on_sphere(rows.astype(np.float16).astype(np.float32))
    assert not lie_on_sphere(1.01 * rows)
    assert not lie_on_sphere(rows[:0])
    assert np.allclose(to_sphere(3 * rows), rows)
    assert to_sphere(np.zeros((1, 2))).tolist() == [[0, 0]]


def test_distances_of_all_rows_from_all_centers():
    generator = np.random.default_rng(0)
    rows, centers = generator.normal(size=(5, 3)), generator.normal(size=(2, 4, 3))
    expected = ((rows[:, None] - centers[:, None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(squared_distances(rows, centers), expected)
    np.testing.assert_allclose(squared_distances(rows, centers[1]), expected[1])
    centers[0, 0] = np.nan
    assert np.isinf(squared_distances(rows, centers)[0, :, 0]).all()
