"""Composed places follow the clusters, and only those that moved."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.clustering.composition import compose_sets
from diarize.clustering.links.compositions import MOST_COMPOSED, LinkCompositions
from diarize.clustering.links.graph import LinkGraph
from diarize.clustering.links.thresholds import Thresholds

from ..conftest import unit, unit_mean


def make_graph(centers: np.ndarray, size: int) -> LinkGraph:
    graph = LinkGraph(Thresholds(0.9, 0.9, 0.9), centers.shape[1])
    for x in centers:
        slot = graph.open(x)
        for _ in range(size - 1):
            graph.add(slot, x)
    return graph


@pytest.mark.parametrize("largest", [2, 3])
def test_the_nearest_set_is_that_of_a_search_over_all(largest: int) -> None:
    rng = np.random.default_rng(0)
    centers = np.linalg.qr(rng.normal(size=(8, 8)))[0][:4]
    graph = make_graph(centers, 4)
    compositions = LinkCompositions(unit_mean, 8, largest, 4)
    for step in range(20):
        x = unit(rng.normal(size=8))
        graph.add(step % 4, unit(centers[step % 4] + 0.1 * rng.normal(size=8)))
        sets = np.array([[i >> j & 1 for j in range(4)] for i in range(16)], dtype=bool)
        sets = sets[(sets.sum(axis=1) > 1) & (sets.sum(axis=1) <= largest)]
        places = compose_sets(unit_mean, unit(np.stack([graph.totals[i] for i in range(4)])), sets)
        found, similarity = compositions.nearest(x, graph)
        assert similarity == pytest.approx((places @ x).max())
        assert found == tuple(np.flatnonzero(sets[(places @ x).argmax()]))


def test_only_what_moved_is_composed_anew() -> None:
    composed: list[int] = []

    def counting(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        composed.append(len(a))
        return unit_mean(a, b)

    graph = make_graph(np.eye(6), 4)
    compositions = LinkCompositions(counting, 6, 2, 4)
    for change, expected in ((None, [15]), (None, []), (2, [5]), (None, [])):
        if change is not None:
            graph.add(change, np.eye(6)[change])
        composed.clear()
        compositions.nearest(np.eye(6)[0], graph)
        assert composed == expected


def test_small_clusters_and_too_many_are_left_out() -> None:
    graph = make_graph(np.eye(40), 3)
    compositions = LinkCompositions(unit_mean, 40, 2, 4)
    assert compositions.nearest(np.eye(40)[0], graph) == ((), -1.0)
    for slot in range(40):
        graph.add(slot, np.eye(40)[slot])
    for slot in range(20, 40):
        graph.add(slot, np.eye(40)[slot])
    assert compositions.nearest(unit(np.eye(40)[20] + np.eye(40)[39]), graph)[0] == (20, 39)
    assert len(compositions.sets) == 190 <= MOST_COMPOSED
    compositions.nearest(unit(np.eye(40)[0] + np.eye(40)[1]), graph)
    assert {c for chosen in compositions.sets for c in chosen} == set(range(20, 40))


def test_a_composition_without_a_direction_is_near_to_nothing() -> None:
    graph = make_graph(np.array([[1.0, 0.0], [-1.0, 0.0]]), 4)
    compositions = LinkCompositions(lambda a, b: a + b, 2, 2, 4)
    assert compositions.nearest(np.array([1.0, 0.0]), graph)[1] == 0.0
