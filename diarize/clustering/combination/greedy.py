"""The greedy assignment of a batch, which resists full clusters (Algorithm 1), and inference."""

from __future__ import annotations

from heapq import heapify, heapreplace
from math import log
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Int64

from diarize.clustering.assignment import squared_distances


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


def nearest(
    rows: Float[np.ndarray, "n p"], centroids: Float64[np.ndarray, "k p"]
) -> Int64[np.ndarray, " n"]:
    """Inference, row by row: the nearest centroid, whatever the sizes (PredictSingleDataPoint)."""
    return squared_distances(rows, centroids).argmin(axis=1).astype(np.int64)


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
