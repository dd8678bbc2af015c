"""The backend `ca`: combination assignment of one recording, made into sets of speakers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from heapq import heapify, heapreplace
from math import log
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Float64, Int64

from diarize.clustering.base import Regions, SampledClusterer, SpeakerBounds, warn_not_converged
from diarize.clustering.checks import Rows
from diarize.clustering.geometry import cluster_means
from diarize.clustering.merging import cut, ward_tree
from diarize.clustering.reassignment import THRESHOLDS, Reassigner, likeliest, most_base_clusters
from diarize.clustering.selection import Criterion
from diarize.sets import squared_distances

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
        "threshold": THRESHOLDS,
        "count_penalty": (1.0, 0.5, 0.7, 1.4, 2.0),
    }

    def _cluster(
        self,
        rows: Rows,
        criterion: Criterion,
        generator: np.random.Generator,
    ) -> Callable[[SpeakerBounds], Regions]:
        reassigner = Reassigner.of(self, criterion)
        sigma = self.sigma
        if sigma is None and criterion.scatter is not None:
            sigma = KNOWN_SIGMA
        elif sigma is None:
            sigma = SIGMA_SHARE * float(rows.var(axis=0).sum())
        tree = ward_tree(rows)

        @cache
        def combined(k: int) -> tuple[Int64[np.ndarray, " n"], int]:
            return combine(rows, cut(tree, k), sigma, self.max_iter)

        def within(bounds: SpeakerBounds) -> Regions:
            most = min(most_base_clusters(self.max_set_size, bounds), len(rows))
            clusterings = (combined(k)[0] for k in range(bounds.low, most + 1))
            # As many clusters as the fewest speakers need no reassignment: there is an answer.
            best = likeliest(criterion, reassigner.reassigned(rows, clusterings, bounds))
            assert best is not None
            labels, chosen = best
            self.n_clusters_ = len(chosen.means)
            self.n_iter_ = combined(self.n_clusters_)[1]
            if self.n_iter_ == self.max_iter:
                warn_not_converged("CA", self.max_iter)
            return chosen.regions(labels)

        return within


def combine(
    rows: Rows, labels: Int64[np.ndarray, " n"], sigma: float, max_iter: int
) -> tuple[Int64[np.ndarray, " n"], int]:
    """Assign rows and move centroids until nothing moves, or a cluster would be lost.

    Returns:
        Labels, no cluster empty as none is at the beginning, and the number of steps.
    """
    k = int(labels.max()) + 1
    for step in range(max_iter):
        means = cluster_means(rows, labels, k)
        new = assign(squared_distances(rows, means), sigma)
        if np.array_equal(new, labels) or len(np.unique(new)) < k:
            return labels, step
        labels = new
    return labels, max_iter


def assign(
    distances: Float[np.ndarray, "n k"], sigma: float, prior: Any = None
) -> Int64[np.ndarray, " n"]:
    """Hard labels of a batch: near centroids, and clusters about as large as the prior says.

    The surest pair of a row and a cluster comes first: the one of least

        D_ij - 2 sigma log p(j) + 2 sigma log(n_j + 1)

    among all rows that have no cluster yet, n_j being the rows that cluster j has so far; that is
    (7) times 2 sigma, for covariances sigma I. Ties go to the lowest (i, j). A step changes the
    costs of one cluster and leaves the order of its rows, so each cluster's rows are sorted once,
    and all that competes are the first free rows of the clusters: O(n k log n) in all.

    Args:
        distances: squared distances of rows from centroids; infinite where a row cannot belong.
        sigma: variance of every cluster in each direction, in the units of the distances. The
            paper's 100 is for features of any length; unit vectors want about 0.1.
        prior: probabilities of the clusters, (k,), above 0; None: all alike.

    Raises:
        ValueError: a value that is not a number, no cluster, a sigma below 0, a prior that does not
            fit, or a row that can belong to no cluster.
    """
    n, k = distances.shape
    weights = check_prior(prior, k)
    if not 0 <= sigma < np.inf:
        raise ValueError(f"sigma must be a finite number of at least 0, got {sigma!r}")
    if np.isnan(distances).any():
        raise ValueError("a distance is not a number")
    if n and not np.isfinite(distances).any(axis=1).all():
        raise ValueError("a row can belong to no cluster: all its distances are infinite")
    costs = distances.astype(np.float64) - 2 * sigma * np.log(weights)
    order = np.argsort(costs, axis=0, kind="stable")
    rows = order.T.tolist()
    sorted_costs = np.take_along_axis(costs, order, axis=0).T.tolist()
    labels = [-1] * n
    counts, at = [0] * k, [0] * k
    # The cost of a cluster's first free row never falls, so a stale entry is never too high.
    heads = [(sorted_costs[j][0], rows[j][0], j) for j in range(k)] if n else []
    heapify(heads)
    free = n
    while free:
        _, i, j = heads[0]
        if labels[i] < 0:
            labels[i] = j
            counts[j] += 1
            free -= 1
        own, place = rows[j], at[j]
        while place < n and labels[own[place]] >= 0:
            place += 1
        at[j] = place
        if place < n:
            cost = sorted_costs[j][place] + 2 * sigma * log(counts[j] + 1)
            heapreplace(heads, (cost, own[place], j))
        else:
            heapreplace(heads, (np.inf, n, j))
    return np.array(labels, dtype=np.int64)


def check_prior(prior: Any, k: int) -> Float64[np.ndarray, " k"]:
    """Probabilities of k clusters, adding up to one; None: all alike.

    Raises:
        ValueError: not k positive numbers.
    """
    if k < 1:
        raise ValueError("there is no cluster")
    if prior is None:
        return np.full(k, 1 / k)
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (k,) or not (weights > 0).all() or not np.isfinite(weights).all():
        raise ValueError(f"the prior must be {k} positive numbers, got {prior!r}")
    return weights / weights.sum()
