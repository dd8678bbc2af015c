"""Agglomerative clustering by Ward's criterion: single speakers only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64, Int64

from diarize.clustering.assignment import cluster_means, squared_distances
from diarize.clustering.base import (
    Regions,
    Rows,
    SampledClusterer,
    SpeakerBounds,
    check_number,
)
from diarize.clustering.selection import Criterion
from diarize.sets import SpeakerSets

BLOCK = 512
"""Rows whose distances are computed in one matrix product."""


@dataclass(kw_only=True, eq=False, repr=False)
class Agglomerative(SampledClusterer):
    """Agglomerative clustering with Ward's criterion: every row holds one speaker.

    Args:
        distance_threshold: clusters at this height of the tree or above are not merged, within
            the bounds on speakers; None: the number is inferred by `selection`.
        count_penalty: factor on the penalty of speakers when their number is inferred.
        sample_size: rows fitted at most, since memory grows with their square; None: all.
    """

    distance_threshold: float | None = None
    count_penalty: float = 1.0
    sample_size: int | None = 5_000

    finds_overlap = False
    composes = False

    # The paper tries 1, 2, 3 and 4; halves lie between, and one value beyond.
    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "distance_threshold": (None, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0),
    }

    def _check_options(self) -> None:
        super()._check_options()
        check_number("count_penalty", self.count_penalty)
        if self.distance_threshold is not None:
            check_number("distance_threshold", self.distance_threshold)

    def _cluster(
        self, rows: Rows, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Regions:
        tree = ward_tree(rows)
        if self.distance_threshold is not None:
            apart = 1 + int((tree[:, 2] >= self.distance_threshold).sum())
            k = min(max(apart, bounds.low), bounds.high)
        else:
            k = self._infer(rows, tree, bounds)
        labels = cut(tree, k)
        means = cluster_means(rows, labels, k)
        return Regions(labels, SpeakerSets(np.eye(k)), means, np.zeros(k), means)

    def _infer(
        self, rows: Rows, tree: Float64[np.ndarray, "merges 4"], bounds: SpeakerBounds
    ) -> int:
        """The number of speakers that the criterion likes best."""
        criterion = Criterion.of(rows, self.count_penalty, self.scatter)
        # A merge at height h adds h^2 / 2 to the sum of squared distances.
        added = np.concatenate([[0.0], np.cumsum(tree[:, 2] ** 2 / 2)])
        values = [
            criterion(added[len(rows) - k], np.bincount(cut(tree, k)).astype(np.float64), k)
            for k in range(bounds.low, bounds.high + 1)
        ]
        return bounds.low + int(np.argmin(values))


def ward_tree(rows: Rows) -> Float64[np.ndarray, "merges 4"]:
    """The n - 1 merges of Ward's criterion, in scipy's form: two clusters, height, size."""
    from scipy.cluster.hierarchy import linkage

    n = len(rows)
    if n == 1:
        return np.zeros((0, 4))
    centered = rows - rows.mean(axis=0, dtype=np.float64)
    squares = (centered**2).sum(axis=1)
    distances = np.empty(n * (n - 1) // 2)
    filled = 0
    for start in range(0, n, BLOCK):
        block = centered[start : start + BLOCK]
        products = squares[start : start + BLOCK, None] + squares - 2 * (block @ centered.T)
        for i, row in enumerate(products):
            ahead = row[start + i + 1 :]
            distances[filled : filled + len(ahead)] = ahead
            filled += len(ahead)
    np.sqrt(np.maximum(distances, 0, out=distances), out=distances)
    return linkage(distances, "ward")


def cut(tree: Float64[np.ndarray, "merges 4"], n_clusters: int) -> Int64[np.ndarray, " n"]:
    """Labels of exactly so many clusters: the tree without its last merges, ties or not."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(tree) + 1
    merges = n - n_clusters
    parents = np.repeat(n + np.arange(merges), 2)
    children = tree[:merges, :2].astype(np.int64).reshape(-1)
    nodes = n + merges
    graph = coo_array((np.ones(len(parents)), (children, parents)), shape=(nodes, nodes))
    return connected_components(graph, directed=False)[1][:n].astype(np.int64)


def ward_merges(
    sums: Float64[np.ndarray, "m p"], counts: Int64[np.ndarray, " m"], n_merges: int
) -> list[tuple[int, int, float]]:
    """Merges of groups of vectors by Ward's criterion: (the group that stays, the other, cost).

    The cost is by how much the sum of squared distances from the means rises.
    """
    sums, weights = sums.copy(), counts.astype(np.float64)
    means = sums / weights[:, None]
    costs = squared_distances(means, means) * (
        weights[:, None] * weights / (weights[:, None] + weights)
    )
    costs[np.tril_indices(len(costs))] = np.inf
    merges = []
    for _ in range(n_merges):
        a, b = divmod(int(costs.argmin()), len(costs))
        merges.append((a, b, float(costs[a, b])))
        sums[a] += sums[b]
        weights[a] += weights[b]
        costs[b], costs[:, b] = np.inf, np.inf
        weights[b] = 0.0
        alive = np.flatnonzero(weights)
        alive = alive[alive != a]
        gaps = ((sums[alive] / weights[alive, None] - sums[a] / weights[a]) ** 2).sum(axis=1)
        new = gaps * weights[alive] * weights[a] / (weights[alive] + weights[a])
        costs[np.minimum(a, alive), np.maximum(a, alive)] = new
    return merges
