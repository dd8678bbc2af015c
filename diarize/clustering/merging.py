"""Greedy merging: the two nearest groups become one, and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float64, Int64

from diarize.sets import squared_distances, to_sphere

BLOCK = 512
"""Rows whose distances are computed in one matrix product."""

Costs = Float64[np.ndarray, "m m"]
Labels = Int64[np.ndarray, " n"]
Join = Callable[[int, int, Int64[np.ndarray, " others"]], Float64[np.ndarray, " others"]]
"""(the group that stays, the one that goes, the others) -> what it costs to merge it with them."""


def merges(costs: Costs, join: Join) -> Iterator[tuple[int, int, float]]:
    """Merge the pair of least cost, the lower number staying, until none may be merged.

    Costs are of all pairs, symmetric; infinite where two may not be merged, and then neither may
    what they become part of. They are kept up to date in place: `join`, which answers the new costs
    of a group that takes another in, finds in them what they were.

    Yields:
        The group that stays, the one that goes, and the cost. Ties go to the lowest numbers.
    """
    np.fill_diagonal(costs, np.inf)
    least = costs.min(axis=1, initial=np.inf)
    while len(costs) and np.isfinite(least.min()):
        stays = int(least.argmin())
        goes = int(costs[stays].argmin())
        if costs[stays, goes] > least[stays]:  # rounding may tell (i, j) from (j, i)
            least[stays] = costs[stays, goes]
            continue
        yield stays, goes, float(costs[stays, goes])
        lost = np.minimum(costs[stays], costs[goes]) <= least  # whose nearest was one of the two
        lost &= np.isfinite(least)
        others = np.flatnonzero(np.isfinite(costs[stays]) & np.isfinite(costs[goes]))
        new = np.full(len(costs), np.inf)
        new[others] = join(stays, goes, others)
        costs[goes], costs[:, goes] = np.inf, np.inf
        costs[stays], costs[:, stays] = new, new
        lost &= new > least  # where it is not, it is the least
        least = np.minimum(least, new)
        lost[[stays, goes]] = True
        least[lost] = costs[lost].min(axis=1)


def ward_merges(
    sums: Float64[np.ndarray, "m p"],
    counts: Int64[np.ndarray, " m"],
    *,
    apart: Int64[np.ndarray, "_ 2"] | None = None,
    on_sphere: bool = False,
) -> Iterator[tuple[int, int, float]]:
    """Merges of groups of vectors by Ward's criterion, as `merges` answers them.

    The cost is by how much the sum of squared distances from the means rises.

    Args:
        sums: of the vectors of each group.
        counts: of the vectors.
        apart: groups that are not merged.
        on_sphere: whether means are brought to the sphere.
    """
    sums, weights = sums.copy(), counts.astype(np.float64)

    def means(groups: np.ndarray) -> np.ndarray:
        found = sums[groups] / weights[groups, None]
        return to_sphere(found) if on_sphere else found

    def join(stays: int, goes: int, others: np.ndarray) -> np.ndarray:
        sums[stays] += sums[goes]
        weights[stays] += weights[goes]
        gaps = ((means(others) - means(np.array([stays]))) ** 2).sum(axis=1)
        return gaps * weights[others] * weights[stays] / (weights[others] + weights[stays])

    everyone = means(np.arange(len(sums)))
    costs = squared_distances(everyone, everyone)
    costs *= weights[:, None] * weights / (weights[:, None] + weights)
    if apart is not None:
        costs[tuple(apart.T)] = costs[tuple(apart.T[::-1])] = np.inf
    return merges(costs, join)


def coarser(
    rows: np.ndarray,
    labels: Labels,
    apart: Int64[np.ndarray, "_ 2"] | None = None,
    *,
    on_sphere: bool = False,
) -> Iterator[Labels]:
    """These clusters, from 0 and none empty, then one fewer by Ward's criterion, and so on.

    `apart` are pairs of rows whose clusters are not merged; `on_sphere` is as for `ward_merges`.
    """
    counts = np.bincount(labels)
    sums = np.stack([rows[labels == j].sum(axis=0, dtype=np.float64) for j in range(len(counts))])
    yield labels
    places = np.arange(len(counts))  # of each first cluster among those that are left
    pairs = None if apart is None else labels[apart]
    for a, b, _ in ward_merges(sums, counts, apart=pairs, on_sphere=on_sphere):
        stays, goes = places[a], places[b]
        labels = np.where(labels == goes, stays, labels - (labels > goes))
        places -= places > goes
        yield labels


def at_most(most: int, partitions: Iterator[Labels]) -> Iterator[Labels]:
    """Those of ever coarser partitions that have no more clusters; the last one, if all have."""
    labels = next(partitions)
    while labels.max() >= most and (fewer := next(partitions, None)) is not None:
        labels = fewer
    yield labels
    yield from partitions


def ward_tree(rows: np.ndarray) -> Float64[np.ndarray, "merges 4"]:
    """The n - 1 merges of rows by Ward's criterion, in scipy's form: two clusters, height, size."""
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


def cut(tree: Float64[np.ndarray, "merges 4"], n_clusters: int) -> Labels:
    """Labels of exactly so many clusters: the tree without its last merges, ties or not."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(tree) + 1
    kept = n - n_clusters
    parents = np.repeat(n + np.arange(kept), 2)
    children = tree[:kept, :2].astype(np.int64).reshape(-1)
    nodes = n + kept
    graph = coo_array((np.ones(len(parents)), (children, parents)), shape=(nodes, nodes))
    return connected_components(graph, directed=False)[1][:n].astype(np.int64)
