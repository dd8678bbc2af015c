"""Speakers in the end: merging, coming apart, and small clusters."""

from __future__ import annotations

import numpy as np

from diarize.clustering.links.graph import LinkGraph
from diarize.clustering.links.settlement import Settlement, settle, single_out
from diarize.clustering.links.thresholds import Thresholds

from ..conftest import unit, unit_mean


def make_graph(centers: np.ndarray, sizes: list[int], joined: bool = False) -> LinkGraph:
    graph = LinkGraph(Thresholds(0.1, 0.999, 0.1), centers.shape[1])
    for x, size in zip(centers, sizes, strict=True):
        slot = graph.open(x, 0) if joined and graph.used else graph.open(x)
        for _ in range(size - 1):
            graph.add(slot, x)
    return graph


def finish(graph: LinkGraph, **options) -> Settlement:
    given = {"compose": unit_mean, "max_set_size": 2, "min_size": 4, "low": 1, "high": 9, **options}
    return settle(graph, **given)


def test_a_small_cluster_stands_for_the_nearest_set() -> None:
    centers = unit(np.array([[1.0, 0, 0], [0, 1, 0], [1, 1.1, 0.1], [1, 0.2, 0.2]]))
    graph = make_graph(centers, [5, 5, 3, 2])
    assert finish(graph).clusters == {0: (0,), 1: (1,), 2: (0, 1), 3: (0,)}
    assert finish(graph).slots == {0: (0,), 1: (1,), 2: (0, 1), 3: (0,)}
    single = finish(graph, max_set_size=1, compose=None)
    assert single.clusters == {0: (0,), 1: (1,), 2: (1,), 3: (0,)}
    assert np.allclose(single.centroids, centers[:2])


def test_small_clusters_are_speakers_where_none_is_larger_or_they_are_asked_for() -> None:
    centers = np.eye(4)
    assert len(finish(make_graph(centers, [1, 2, 3, 1])).centroids) == 4
    graph = make_graph(centers, [5, 1, 3, 1])
    assert len(finish(graph).centroids) == 1
    assert finish(graph, low=2).clusters[2] == (1,)
    assert len(finish(graph, low=4).centroids) == 4


def test_too_many_merge_by_ward() -> None:
    centers = unit(np.array([[1.0, 0, 0], [0.9, 0.3, 0], [0, 1, 0], [0, 0, 1]]))
    found = finish(make_graph(centers, [5, 6, 7, 8]), high=3)
    assert found.clusters == {0: (0,), 1: (0,), 2: (1,), 3: (2,)}
    assert np.allclose(found.centroids[0], unit(5 * centers[0] + 6 * centers[1]))


def test_too_few_come_apart_where_ward_would_merge_last() -> None:
    centers = unit(np.array([[1.0, 0.2, 0], [1, 0.4, 0], [0.4, 1, 0], [0.3, 1, 0]]))
    graph = make_graph(centers, [5, 5, 6, 6], joined=True)
    assert len(graph.sizes) == 1
    found = finish(graph, low=2)
    assert found.slots == {0: (0,), 1: (0,), 2: (1,), 3: (1,)}
    assert found.clusters == {0: (1,)}  # the larger part answers for the id
    assert len(finish(graph, low=4).centroids) == len(finish(graph, low=9).centroids) == 4


def test_rows_are_singled_out_where_there_are_too_few_subclusters() -> None:
    rows = unit(np.array([[1.0, 0], [1, 0.1], [1, 0.5], [1, 0.05]]))
    membership, centroids = single_out(rows, np.ones((4, 1), dtype=bool), rows[:1], 3)
    assert membership.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    assert np.array_equal(centroids, rows[[0, 2, 1]])
    everyone, _ = single_out(rows, np.ones((4, 1), dtype=bool), rows[:1], 4)
    assert everyone.any(axis=0).all() and (everyone.sum(axis=1) == 1).all()


def test_nobody_is_more_than_the_largest_set() -> None:
    graph = make_graph(np.eye(4), [5, 5, 5, 5])
    found = finish(graph)
    assert found.speakers_at((0, 1), graph) == (0, 1)
    assert found.speakers_at((0, 1, 2), graph) == (0, 1)
    assert found.speakers_at(3, graph) == (3,)
