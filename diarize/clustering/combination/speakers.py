"""The backend `ca`: combination assignment of one recording, made into sets of speakers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Int64

from diarize.clustering.agglomerative import cut, ward_tree
from diarize.clustering.assignment import cluster_means, squared_distances
from diarize.clustering.base import (
    Regions,
    Rows,
    SampledClusterer,
    SpeakerBounds,
    check_integer,
    check_number,
)
from diarize.clustering.combination.greedy import assign
from diarize.clustering.gcr import GCR, most_base_clusters
from diarize.clustering.selection import Criterion

KNOWN_SIGMA, SIGMA_SHARE = 0.1, 0.1
"""sigma of unit vectors whose scatter is known, and of other rows as a share of their variance."""


@dataclass(kw_only=True, eq=False, repr=False)
class CA(SampledClusterer):
    """Combination assignment: clusters that resist growing; those that others compose become sets.

    The training step of Mahon and Lukasiewicz with the encoder frozen: rows are assigned greedily
    to near clusters that are not full yet, and each centroid moves to where the gradient of its
    distances vanishes, the mean of its rows. Greedy compositional reassignment (`gcr`) finds what
    the clusters stand for. Of all numbers of clusters the one wins that `selection` likes best.

    Args:
        sigma: variance of a cluster in each direction: a cluster must be nearer by
            2 sigma log 2 in squared distance to be preferred to one with half of its rows. None:
            0.1 of unit vectors whose scatter is known, a tenth of their variance of other rows;
            the paper's 100 is for features of any length; 0: k-means.
        threshold: of the reassignment, as for `gcr`.
        count_penalty: factor on the penalty of clusters when their number is inferred.
        max_iter: most steps.
        sample_size: rows fitted at most; None: all.

    Attributes:
        n_clusters_: clusters of the answer, mixtures included.
        n_iter_: steps that they took.
    """

    sigma: float | None = None
    threshold: float | None = None
    count_penalty: float = 1.0
    max_iter: int = 50
    sample_size: int | None = 2_000

    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "sigma": (None, 0.0, 0.03, 0.06, 0.1, 0.2),
        "threshold": (None, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0),
        "count_penalty": (1.0, 0.5, 0.7, 1.4, 2.0),
    }

    def _check_options(self) -> None:
        super()._check_options()
        check_number("count_penalty", self.count_penalty)
        if self.sigma is not None:
            check_number("sigma", self.sigma)
        if self.threshold is not None:
            check_number("threshold", self.threshold)
        check_integer("max_iter", self.max_iter)

    def _cluster(
        self, rows: Rows, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Regions:
        criterion = Criterion.of(rows, self.count_penalty, self.scatter)
        reassignment = GCR(
            max_set_size=self.max_set_size, compose=self.compose, threshold=self.threshold
        )
        sigma = self.sigma
        if sigma is None:
            known = criterion.scatter is not None
            sigma = KNOWN_SIGMA if known else SIGMA_SHARE * float(rows.var(axis=0).sum())
        tree = ward_tree(rows)
        most = min(most_base_clusters(self.max_set_size, bounds), len(rows))
        steps: dict[int, int] = {}  # for each number of clusters

        def clusterings() -> Iterator[Int64[np.ndarray, " n"]]:
            for k in range(bounds.low, most + 1):
                labels, steps[k] = combine(rows, cut(tree, k), sigma, self.max_iter)
                yield labels

        # As many clusters as the fewest speakers need no reassignment: there is an answer.
        labels, chosen = min(
            reassignment.reassigned(rows, clusterings(), bounds),
            key=lambda one: one[1].cost(criterion),
        )
        self.n_clusters_ = len(chosen.means)
        self.n_iter_ = steps[self.n_clusters_]
        return chosen.regions(labels)


def combine(
    rows: Rows, labels: Int64[np.ndarray, " n"], sigma: float, max_iter: int
) -> tuple[Int64[np.ndarray, " n"], int]:
    """Assign rows and move centroids until nothing moves, or a cluster would be lost.

    Args:
        rows: (n, p).
        labels: where to begin, no cluster empty.
        sigma: as for `assign`.
        max_iter: most steps.

    Returns:
        Labels, no cluster empty, and the number of steps.
    """
    k = int(labels.max()) + 1
    for step in range(max_iter):
        means = cluster_means(rows, labels, k)
        new = assign(squared_distances(rows, means), sigma)
        if np.array_equal(new, labels) or len(np.unique(new)) < k:
            return labels, step
        labels = new
    return labels, max_iter
