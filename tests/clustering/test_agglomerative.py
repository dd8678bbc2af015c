"""Ward's clustering against scikit-learn, scipy and plain sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import adjusted_rand_score

from diarize.clustering import merging
from diarize.clustering.agglomerative import Agglomerative
from diarize.clustering.merging import cut, merges, ward_merges, ward_tree


def fit(rows, **options):
    return Agglomerative(max_set_size=1, **options).fit(rows)


@pytest.mark.parametrize("block", [1, 7, 512])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_tree_is_scipys(block, dtype, monkeypatch):
    monkeypatch.setattr(merging, "BLOCK", block)
    rows = np.random.default_rng(0).normal(size=(30, 4)).astype(dtype)
    expected = linkage(rows.astype(np.float64), "ward")
    assert np.allclose(ward_tree(rows), expected)


@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_clusters_are_those_of_scikit_learn(k):
    rows = np.random.default_rng(1).normal(size=(30, 4))
    expected = AgglomerativeClustering(n_clusters=k).fit_predict(rows)
    model = fit(rows, n_speakers=k)
    assert adjusted_rand_score(expected, model.labels_) == 1
    assert (model.sets_.sizes == 1).all()
    assert model.n_speakers_ == k


def test_ties_do_not_change_the_number_of_clusters():
    rows = np.repeat(np.eye(2), 4, axis=0)
    for k in range(1, 9):
        assert len(np.unique(cut(ward_tree(rows), k))) == k
        assert fit(rows, n_speakers=k).n_speakers_ == k


def test_a_distance_threshold_cuts_as_in_scikit_learn():
    rows = np.random.default_rng(2).normal(size=(40, 3))
    for threshold in (0.0, 1.0, 2.5, 100.0):
        expected = AgglomerativeClustering(n_clusters=None, distance_threshold=threshold).fit(rows)
        model = fit(rows, distance_threshold=threshold, max_speakers=40)
        assert model.n_speakers_ == expected.n_clusters_
    assert fit(rows, distance_threshold=0.0, max_speakers=3).n_speakers_ == 3
    assert fit(rows, distance_threshold=100.0, min_speakers=2).n_speakers_ == 2


def test_the_number_is_inferred_off_the_sphere_too():
    generator = np.random.default_rng(0)
    for k in (1, 2, 4):
        places = 20 * np.eye(4)[:k]
        rows = places[np.arange(80) % k] + generator.normal(size=(80, 4)) + 100
        assert fit(rows).n_speakers_ == k


@settings(max_examples=40)
@given(st.integers(0, 2**40), st.integers(2, 12))
def test_merges_are_those_of_scipy(seed: int, n: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(n, 3))
    costs = [cost for *_, cost in ward_merges(rows, np.ones(n, dtype=np.int64))]
    assert np.allclose(costs, linkage(rows, "ward")[:, 2] ** 2 / 2)


@given(st.integers(0, 2**40))
def test_what_may_not_be_merged_is_not_however_costs_are_rounded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.random((9, 9))
    costs = (costs + costs.T) / 2 + 1e-16 * rng.integers(0, 3, (9, 9))
    apart = np.triu(rng.random((9, 9)) < 0.5, 1)
    costs[apart | apart.T] = np.inf

    def nearest(one: int, other: int, others: np.ndarray) -> np.ndarray:
        return np.minimum(costs[one, others], costs[other, others])

    assert all(cost < 1 + 1e-15 for *_, cost in merges(costs, nearest))
