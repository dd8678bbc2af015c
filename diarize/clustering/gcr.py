"""Greedy compositional reassignment (Li, He, Whitehill, Algorithm 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float64, Int64
from sklearn.base import clone

from diarize.clustering.base import MOST_SETS, Regions, SampledClusterer, SpeakerBounds
from diarize.clustering.checks import Rows
from diarize.clustering.composition import Compose, compose_sets, enumerate_sets, most_speakers
from diarize.clustering.geometry import cluster_means
from diarize.clustering.known import MISFIT, MIXED, known_of, one_sided_axes
from diarize.clustering.merging import coarser, cut, ward_tree
from diarize.clustering.nearest import Nearest
from diarize.clustering.selection import Criterion
from diarize.sets import SpeakerSets, squared_distances, to_sphere

Sets = Bool[np.ndarray, "m k"]
Distances = Float64[np.ndarray, "k m"]
Order = tuple[Int64[np.ndarray, " moved"], Float64[np.ndarray, " moved"]]

MAX_BASE_CLUSTERS = 30
"""Most base clusters looked at when their number is inferred."""

FAR = 10.0
"""By how much nearer to every composition clusters of mixtures are taken to be than any voice: more
than two unit vectors can be apart."""


@dataclass(kw_only=True, eq=False, repr=False)
class GCR(SampledClusterer):
    """Greedy compositional reassignment: clusters that others compose become sets of these.

    A base clustering comes first. Then clusters are compared with the compositions of others: one
    that lies nearer to its composition than the threshold stands for that set of speakers from
    then on, as long as no two such decisions contradict each other.

    Where it is known on which side all speakers lie (`Axes.voiced`), a cluster that does not lie
    there is a mixture, and given up before all others, however far it is from its composition;
    but not in Algorithm 4.

    Where the number of speakers is given or bounded, it rules: more or fewer clusters are
    reassigned than the threshold says, and the two nearest base clusters are merged as long as
    that does not suffice.

    Args:
        base: an estimator with `labels_`, taken as it is configured; None: Ward's criterion.
        n_base_clusters: clusters before the reassignment, given to the base as `n_clusters`;
            None: that of `base`, or inferred by `selection` where there is no base.
        order: how it is decided which clusters are reassigned. "elimination": speakers are given up
            one at a time, each time the one without whom all that were given up stay nearest to
            compositions of those who remain. "nearest": Algorithm 4, nearest clusters first, up to
            the first contradiction; where sets are many, that comes early.
        threshold: tau, a distance from a composition; None: the root mean square distance of the
            rows from their base centroids, so that rows of a reassigned cluster may be twice as
            far (in squares) from the composition as from their own centroid.
        set_penalty: added to the squared distance from a composition for each speaker beyond the
            first; 0 is the paper's algorithm.
        sample_size: rows fitted at most, since Ward's memory grows with their square; None: all.

    Attributes:
        n_base_clusters_: base clusters of the answer.
        threshold_: tau that was used.
    """

    base: Any = None
    n_base_clusters: int | None = None
    order: str = "elimination"
    threshold: float | None = None
    set_penalty: float = 0.0
    count_penalty: float = 1.0
    sample_size: int | None = 5_000

    # The paper's two hyperparameters; distances lie between 0 and 2 for unit vectors.
    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "n_base_clusters": (None, 6, 8, 10, 12, 15, 18, 20, 25),
        "threshold": (None, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0),
    }

    def _check_options(self) -> None:
        super()._check_options()
        if self.order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {self.order!r}")

    def _cluster(
        self, rows: Rows, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Regions:
        criterion = Criterion.of(rows, self.count_penalty, self.scatter)
        labels = self._base_labels(rows, bounds, generator)
        inferred = self.base is None and self.n_base_clusters is None
        found = self.reassigned(rows, coarser(rows, labels), bounds)
        tried = found if inferred else islice(found, 1)
        best = min(tried, key=lambda one: one[1].cost(criterion), default=None)
        if best is None:
            raise ValueError(
                f"the base clustering has {labels.max() + 1} clusters, "
                f"fewer than the {bounds.low} speakers asked for"
            )
        labels, chosen = best
        self.n_base_clusters_ = len(chosen.means)
        self.threshold_ = chosen.threshold
        return chosen.regions(labels)

    def _base_labels(
        self, rows: Rows, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Int64[np.ndarray, " n"]:
        """The base clustering, at its finest: labels from 0, no cluster empty."""
        if self.base is None:
            most = most_base_clusters(self.max_set_size, bounds)
            return cut(ward_tree(rows), min(self.n_base_clusters or most, len(rows)))
        base = clone(self.base)
        options = base.get_params()
        if self.n_base_clusters is not None:
            if "n_clusters" not in options:
                raise ValueError(f"{type(base).__name__} takes no n_clusters")
            base.set_params(n_clusters=self.n_base_clusters)
        if "random_state" in options and options["random_state"] is None:
            base.set_params(random_state=int(generator.integers(2**31)))
        given = np.asarray(base.fit(rows).labels_)
        names, labels = np.unique(given, return_inverse=True)
        clusters = np.flatnonzero(names >= 0)
        if len(clusters) in (0, len(names)):
            return labels.astype(np.int64)
        # Rows that the base left out (a negative label) go to the nearest cluster.
        labels = labels - clusters[0]
        inside = labels >= 0
        means = cluster_means(rows[inside], labels[inside], len(clusters))
        everyone = Nearest(rows, 1, len(means))
        everyone.update(means[None], np.zeros(len(means)))
        return np.where(inside, labels, everyone.labels[0]).astype(np.int64)

    def reassigned(
        self, rows: Rows, clusterings: Iterable[Int64[np.ndarray, " n"]], bounds: SpeakerBounds
    ) -> Iterator[tuple[Int64[np.ndarray, " n"], Reassignment]]:
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
        voiced = self._voiced(rows, means)
        mixed = voiced < MIXED
        order, levels = ORDERS[self.order](compositions, distances - FAR * mixed[:, None])
        wanted = int((levels < threshold).sum())
        n_moved = min(max(wanted, k - bounds.high), k - bounds.low)
        if not 0 <= n_moved <= len(order):
            return None
        moved = order[:n_moved]
        sets = np.eye(k, dtype=bool)
        sets[moved], gaps = stand_for(moved, compositions, distances)
        # Up to the threshold a distance is put down to g; what a bound forces beyond it counts. The
        # threshold rises as clusters grow coarser, and would forgive that two voices are one.
        forgiven = np.where(mixed[moved], MISFIT, threshold**2)
        beyond = np.maximum(gaps**2 - forgiven, 0)
        ssd += float((counts[moved] * beyond).sum())
        n_counted = k - int(mixed[moved].sum())
        mixed[moved] = False  # what is left stays a speaker, though it is none
        ssd += float((counts * (1 - voiced))[mixed].sum())
        return Reassignment(means, counts, sets, k - n_moved, n_counted, ssd, float(threshold))

    def _voiced(self, rows: Rows, means: Float64[np.ndarray, "k p"]) -> Float64[np.ndarray, " k"]:
        """How far the means lie on the side of all speakers; infinitely, where it is not known."""
        axes = one_sided_axes(known_of(rows, self.scatter))
        if axes is None or self.order == "nearest":
            return np.full(len(means), np.inf)
        return axes.voiced(to_sphere(means))


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

    def cost(self, criterion: Criterion) -> float:
        """By which base clusterings are compared."""
        return criterion(self.ssd, self.counts, self.n_counted)

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


def most_base_clusters(max_set_size: int, bounds: SpeakerBounds) -> int:
    """Most base clusters to look at: so many that their sets can be looked at."""
    return max(most_speakers(MAX_BASE_CLUSTERS, max_set_size, MOST_SETS), bounds.low)


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
