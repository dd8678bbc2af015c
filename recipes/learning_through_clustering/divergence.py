"""How far cluster sizes are from the true ones: KL* of table 4, for hard and soft assignments.

The divergence is that of the model's distribution over clusters from the true one over classes,
KL(q || p), in nats. It is 0 where sizes agree, and log k where all of k equal classes end up in one
cluster. Which cluster is which class is left open: both are taken in the order of their size, the
pairing with the least divergence.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64, Int


def hard_divergence(memberships: Float[np.ndarray, "n k"], truth: Int[np.ndarray, " n"]) -> float:
    """KL* of the likeliest clusters of the rows.

    Args:
        memberships: soft assignments of each row.
        truth: classes from 0, at most k of them.

    Raises:
        ValueError: no rows, or more classes than clusters.
    """
    k = memberships.shape[1]
    chosen = np.bincount(memberships.argmax(axis=1), minlength=k)
    return size_divergence(chosen / max(len(truth), 1), _shares(truth, k))


def soft_divergence(memberships: Float[np.ndarray, "n k"], truth: Int[np.ndarray, " n"]) -> float:
    """KL* of the mean soft assignment; arguments as for `hard_divergence`."""
    shares = _shares(truth, memberships.shape[1])
    return size_divergence(memberships.mean(axis=0, dtype=np.float64), shares)


def size_divergence(found: Float64[np.ndarray, " k"], true: Float64[np.ndarray, " k"]) -> float:
    """KL(found || true) in nats of two distributions, each in descending order.

    Infinite where more clusters are used than there are classes.
    """
    q, p = np.sort(found)[::-1], np.sort(true)[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(q > 0, q * np.log(q / p), 0.0)
    return max(0.0, float(terms.sum()))


def _shares(truth: Int[np.ndarray, " n"], k: int) -> Float64[np.ndarray, " k"]:
    if not len(truth):
        raise ValueError("there are no rows")
    counts = np.bincount(truth, minlength=k)
    if len(counts) > k:
        raise ValueError(f"{len(counts)} classes, but only {k} clusters")
    return counts / len(truth)
