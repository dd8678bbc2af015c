"""Greedy compositional reassignment (Li, He, Whitehill, Algorithm 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float64, Int64
from sklearn.base import clone

from diarize.clustering.agglomerative import cut, ward_merges, ward_tree
from diarize.clustering.assignment import Assignment, cluster_means
from diarize.clustering.base import (
    MOST_SETS,
    Regions,
    Rows,
    SampledClusterer,
    SpeakerBounds,
    check_integer,
    check_number,
)
from diarize.clustering.composition import most_speakers
from diarize.clustering.reassignment import ORDERS, composition_distances, stand_for
from diarize.clustering.selection import Criterion
from diarize.sets import SpeakerSets

MAX_BASE_CLUSTERS = 30
"""Most base clusters looked at when their number is inferred."""


@dataclass(kw_only=True, eq=False, repr=False)
class GCR(SampledClusterer):
    """Greedy compositional reassignment: clusters that others compose become sets of these.

    A base clustering comes first. Then clusters are compared with the compositions of others: one
    that lies nearer to its composition than the threshold stands for that set of speakers from
    then on, as long as no two such decisions contradict each other.

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
        count_penalty: factor on the penalty of clusters when their number is inferred.
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
        for name in ("set_penalty", "count_penalty"):
            check_number(name, getattr(self, name))
        if self.order not in ORDERS:
            raise ValueError(f"order must be one of {', '.join(ORDERS)}, got {self.order!r}")
        if self.threshold is not None:
            check_number("threshold", self.threshold)
        if self.n_base_clusters is not None:
            check_integer("n_base_clusters", self.n_base_clusters)

    def _cluster(
        self, rows: Rows, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Regions:
        criterion = Criterion.of(rows, self.count_penalty, self.scatter)
        labels = self._base_labels(rows, bounds, generator)
        inferred = self.base is None and self.n_base_clusters is None
        found = self.reassigned(rows, merged_step_by_step(rows, labels), bounds)
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
        everyone = Assignment(rows, 1, len(means))
        everyone.update(means[None], np.zeros(len(means)))
        return np.where(inside, labels, everyone.labels[0]).astype(np.int64)

    def reassigned(
        self, rows: Rows, clusterings: Iterable[Int64[np.ndarray, " n"]], bounds: SpeakerBounds
    ) -> Iterator[tuple[Int64[np.ndarray, " n"], Reassignment]]:
        """The base clusterings that can keep to the bounds, each with its reassignment."""
        for labels in clusterings:
            found = self.reassign(rows, labels, bounds)
            if found is not None:
                yield labels, found

    def reassign(
        self, rows: Rows, labels: Int64[np.ndarray, " n"], bounds: SpeakerBounds
    ) -> Reassignment | None:
        """Reassign one base clustering; None if that cannot keep to the bounds."""
        k = int(labels.max()) + 1
        means = cluster_means(rows, labels, k)
        counts = np.bincount(labels).astype(np.float64)
        ssd = float(((rows - means[labels]) ** 2).sum())
        threshold = self.threshold
        if threshold is None:
            threshold = np.sqrt(ssd / len(rows))
        compositions, distances = composition_distances(
            self.compose, means, self.max_set_size, self.set_penalty
        )
        order, levels = ORDERS[self.order](compositions, distances)
        wanted = int((levels < threshold).sum())
        n_moved = min(max(wanted, k - bounds.high), k - bounds.low)
        if not 0 <= n_moved <= len(order):
            return None
        moved = order[:n_moved]
        sets = np.eye(k, dtype=bool)
        sets[moved], gaps = stand_for(moved, compositions, distances)
        # Up to the threshold a distance is put down to g; what a bound forces beyond it counts.
        beyond = np.maximum(gaps**2 - threshold**2, 0)
        ssd += float((counts[moved] * beyond).sum())
        return Reassignment(means, counts, sets, k - n_moved, ssd, float(threshold))


@dataclass(frozen=True)
class Reassignment:
    """A base clustering, and what its clusters stand for."""

    means: Float64[np.ndarray, "k p"]
    counts: Float64[np.ndarray, " k"]
    sets: Bool[np.ndarray, "k k"]  # who each base cluster stands for
    n_speakers: int
    ssd: float
    threshold: float

    def cost(self, criterion: Criterion) -> float:
        """By which base clusterings are compared: the number of clusters counts, mixtures too."""
        return criterion(self.ssd, self.counts, len(self.means))

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


def merged_step_by_step(
    rows: Rows, labels: Int64[np.ndarray, " n"]
) -> Iterator[Int64[np.ndarray, " n"]]:
    """These clusters, then one fewer by Ward's criterion, and so on down to one."""
    counts = np.bincount(labels)
    sums = np.stack([rows[labels == j].sum(axis=0, dtype=np.float64) for j in range(len(counts))])
    yield labels
    places = np.arange(len(counts))  # of each first cluster among those that are left
    for a, b, _ in ward_merges(sums, counts, len(counts) - 1):
        stays, goes = places[a], places[b]
        labels = np.where(labels == goes, stays, labels - (labels > goes))
        places -= places > goes
        yield labels
