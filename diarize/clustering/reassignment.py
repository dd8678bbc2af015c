"""Greedy reassignment of clusters to compositions of others (Li, He, Whitehill, Algorithm 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from diarize.clustering.base import MOST_SETS, Regions, SpeakerBounds
from diarize.clustering.checks import Rows
from diarize.clustering.composition import Compose, compose_sets, most_speakers
from diarize.clustering.geometry import cluster_means
from diarize.clustering.known import one_sided_axes
from diarize.clustering.selection import Criterion, Partition
from diarize.scatter import Axes
from diarize.sets import SpeakerSets, enumerate_sets, squared_distances, to_sphere

Sets = Bool[np.ndarray, "m k"]
Distances = Float64[np.ndarray, "k m"]
Order = tuple[Int64[np.ndarray, " moved"], Float64[np.ndarray, " moved"]]

MAX_BASE_CLUSTERS = 30
"""Most base clusters looked at when their number is inferred."""

THRESHOLDS = (None, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
"""Worth a search; unit vectors are 0 to 2 apart."""

MIXED = 0.6
"""How far on the side of all speakers (`Axes.along_mean`) the mean of many rows lies at most if
they are mixtures: in trials of dev-a those of two voices were at 0.5 and less, those of one at 0.97
and more."""

MISFIT = 0.15
"""Squared distance of a cluster of mixtures from its composition that is put down to g."""

FAR = 10.0
"""By how much nearer to every composition clusters of mixtures are taken to be than any voice: more
than two unit vectors can be apart."""


@dataclass(frozen=True, kw_only=True)
class Reassigner:
    """Says which base clusters are sets of others, within bounds on the speakers that are left.

    Attributes:
        compose, max_set_size: g and d.
        threshold, set_penalty, order: as of `GCR`.
        axes: by which mixtures are told from voices; None: they are not.
    """

    compose: Compose | None
    max_set_size: int
    threshold: float | None = None
    set_penalty: float = 0.0
    order: str = "elimination"
    axes: Axes | None = None

    @classmethod
    def of(cls, clusterer: Any, criterion: Criterion, **options: Any) -> Reassigner:
        """By the options of a clustering, whose scatter the criterion knows."""
        return cls(
            compose=clusterer.compose,
            max_set_size=clusterer.max_set_size,
            threshold=clusterer.threshold,
            axes=one_sided_axes(criterion.scatter),
            **options,
        )

    def reassigned(
        self, rows: Rows, clusterings: Iterable[Int64[np.ndarray, " n"]], bounds: SpeakerBounds
    ) -> Iterator[Tried]:
        """The base clusterings that can keep to the bounds, each with its reassignment."""
        for labels in clusterings:
            if (found := self.reassign(rows, labels, bounds)) is not None:
                yield labels, found

    def reassign(
        self, rows: Rows, labels: Int64[np.ndarray, " n"], bounds: SpeakerBounds
    ) -> Reassignment | None:
        """Reassign one base clustering; None if that cannot keep to the bounds."""
        k = int(labels.max()) + 1
        means = cluster_means(rows, labels, k)
        counts = np.bincount(labels).astype(np.float64)
        ssd = float(((rows - means[labels]) ** 2).sum())
        threshold = np.sqrt(ssd / len(rows)) if self.threshold is None else self.threshold
        compositions, distances = composition_distances(
            self.compose, means, self.max_set_size, self.set_penalty
        )
        side = self._along_mean(means)
        mixed = side < MIXED
        order, levels = ORDERS[self.order](compositions, distances - FAR * mixed[:, None])
        wanted = int((levels < threshold).sum())
        n_moved = min(max(wanted, k - bounds.high), k - bounds.low)
        if not 0 <= n_moved <= len(order):
            return None
        moved = order[:n_moved]
        sets = np.eye(k, dtype=bool)
        sets[moved], gaps = stand_for(moved, compositions, distances)
        # Up to the threshold a distance is put down to g; what a bound forces beyond it counts. Of
        # mixtures a fixed one is: the threshold rises as clusters grow coarser, and would forgive
        # that two voices are one.
        forgiven = np.where(mixed[moved], MISFIT, threshold**2)
        beyond = np.maximum(gaps**2 - forgiven, 0)
        ssd += float((counts[moved] * beyond).sum())
        n_counted = k - int(mixed[moved].sum())
        mixed[moved] = False  # what is left stays a speaker, though it is none
        ssd += float((counts[mixed] * (1 - side[mixed])).sum())
        return Reassignment(means, counts, sets, k - n_moved, n_counted, ssd, float(threshold))

    def _along_mean(self, means: Float64[np.ndarray, "k p"]) -> Float64[np.ndarray, " k"]:
        """How far they lie on the side of all speakers; infinitely far where it is not known."""
        if self.axes is None:
            return np.full(len(means), np.inf)
        return self.axes.along_mean(to_sphere(means))


@dataclass(frozen=True)
class Reassignment:
    """A base clustering, and what its clusters stand for."""

    means: Float64[np.ndarray, "k p"]
    counts: Float64[np.ndarray, " k"]
    sets: Bool[np.ndarray, "k k"]  # who each base cluster stands for
    n_speakers: int
    n_counted: int  # clusters that must be borne out, by which base clusterings are compared
    ssd: float
    threshold: float

    @property
    def partition(self) -> Partition:
        """By which base clusterings are compared."""
        return Partition(self.ssd, self.counts, self.n_counted)

    def regions(self, labels: Int64[np.ndarray, " n"]) -> Regions:
        """As regions of the rows of this base clustering."""
        speakers = np.flatnonzero(self.sets.any(axis=0))
        return Regions(
            ids=labels,
            sets=SpeakerSets(self.sets[:, speakers]),
            centers=self.means,
            offsets=np.zeros(len(self.means)),
            centroids=self.means[speakers],
        )


Tried = tuple[Int64[np.ndarray, " n"], Reassignment]
"""Labels of a base clustering, and its reassignment."""


def likeliest(criterion: Criterion, tried: Iterable[Tried]) -> Tried | None:
    """Which base clustering, with what it stands for, the criterion likes best; None of none."""
    all_tried = list(tried)
    if not all_tried:
        return None
    return all_tried[criterion.likeliest([one.partition for _, one in all_tried])]


def most_base_clusters(max_set_size: int, bounds: SpeakerBounds) -> int:
    """Most base clusters to look at: so many that their sets can be looked at."""
    return most_looked_at(max(MAX_BASE_CLUSTERS, bounds.high), max_set_size, bounds)


def most_looked_at(n_clusters: int, max_set_size: int, bounds: SpeakerBounds) -> int:
    """Of so many clusters, how many can be looked at with their sets; as many as are asked for."""
    return max(most_speakers(n_clusters, max_set_size, MOST_SETS), bounds.low)


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
