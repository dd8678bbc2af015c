"""Which clusters are compositions of others: two greedy orders of deciding it.

Both are given how far each cluster is from each composition of others, and answer clusters in the
order in which they cease to be speakers, with the distance up to which one has to go for that. What
a cluster then stands for is the nearest composition of the speakers that remain.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float64, Int64

from diarize.clustering.assignment import squared_distances
from diarize.clustering.composition import Compose, compose_sets, enumerate_sets

Sets = Bool[np.ndarray, "m k"]
Distances = Float64[np.ndarray, "k m"]
Order = tuple[Int64[np.ndarray, " moved"], Float64[np.ndarray, " moved"]]


def composition_distances(
    compose: Compose | None,
    means: Float64[np.ndarray, "k p"],
    max_set_size: int,
    set_penalty: float,
) -> tuple[Sets, Distances]:
    """All compositions of two or more clusters, and how far each cluster is from each.

    The square of a distance includes the penalty for each speaker beyond the first; a composition
    that holds the cluster itself is infinitely far.
    """
    sets = enumerate_sets(len(means), max_set_size)
    sets = sets[sets.sum(axis=1) > 1]
    if len(means) < 3 or not len(sets):
        return sets[:0], np.zeros((len(means), 0))
    distances = squared_distances(means, compose_sets(compose, means, sets))
    distances += set_penalty * (sets.sum(axis=1) - 1)
    distances[sets.T] = np.inf  # b_j does not hold j
    return sets, np.sqrt(distances)


def nearest_first(sets: Sets, distances: Distances) -> Order:
    """Algorithm 4: nearest first, up to the first that contradicts those before it."""
    k = len(distances)
    if not len(sets):
        return np.zeros(0, np.int64), np.zeros(0)
    composition = distances.argmin(axis=1)  # b_j
    nearest = distances[np.arange(k), composition]  # d_j
    part_of_others = np.zeros(k, dtype=bool)  # S
    reassigned = np.zeros(k, dtype=bool)  # T
    order = []
    for j in np.argsort(nearest, kind="stable"):
        parts = sets[composition[j]]
        if np.isinf(nearest[j]) or part_of_others[j] or (parts & reassigned).any():
            break
        part_of_others |= parts
        reassigned[j] = True
        order.append(j)
    chosen = np.array(order, dtype=np.int64)
    return chosen, nearest[chosen]


def elimination(sets: Sets, distances: Distances) -> Order:
    """One speaker fewer at a time: whose loss leaves all lost ones nearest to what remains.

    The composition of a cluster that was lost before may change with every further one, so there
    are no contradictions. The level of a step is the largest distance of a lost cluster from the
    compositions of those that remain; it never falls.
    """
    k = len(distances)
    remaining = np.ones(k, dtype=bool)
    order = np.zeros(0, np.int64)
    levels: list[float] = []
    while True:
        usable = ~sets[:, ~remaining].any(axis=1)
        best, level = -1, np.inf
        for j in np.flatnonzero(remaining):
            without = usable & ~sets[:, j]
            if without.any():
                worst = distances[np.ix_(np.append(order, j), without)].min(axis=1).max()
                if worst < level:
                    best, level = int(j), float(worst)
        if best < 0:
            return order, np.array(levels)
        remaining[best] = False
        order = np.append(order, best)
        levels.append(level)


ORDERS: dict[str, Callable[[Sets, Distances], Order]] = {
    "nearest": nearest_first,
    "elimination": elimination,
}
"""Name of an order -> what finds it."""


def stand_for(
    moved: Int64[np.ndarray, " moved"], sets: Sets, distances: Distances
) -> tuple[Bool[np.ndarray, "moved k"], Float64[np.ndarray, " moved"]]:
    """The nearest composition of the other clusters to each that was moved, and its distance."""
    usable = ~sets[:, moved].any(axis=1)
    of_others, gaps = sets[usable], distances[np.ix_(moved, usable)]
    if not len(moved):
        return np.zeros((0, len(distances)), dtype=bool), np.zeros(0)
    nearest = gaps.argmin(axis=1)
    return of_others[nearest], gaps[np.arange(len(moved)), nearest]
