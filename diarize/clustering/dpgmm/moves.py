"""Hastings ratios of splits and merges, and what comes of them (Algorithm 1).

Ratio (16) belongs to a split into sub-clusters, (17) is its reciprocal. The merge ratio that is
used is the full one of Chang and Fisher (2013), which weighs a merge against the random split that
would undo it; (17) leaves its alpha terms out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.special import gammaln

from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.statistics import Statistics

Array = np.ndarray


def log_split_ratio(
    prior: NIW, left: Statistics, right: Statistics, alpha: float
) -> Float64[Array, "*b"]:
    """Ln H_split of clusters into these halves (16); -inf where a half is empty."""
    gain = prior.log_marginal(left) + prior.log_marginal(right) - prior.log_marginal(left + right)
    return split_ratio_of_gain(left.counts, right.counts, gain, alpha)


def split_ratio_of_gain(left: Any, right: Any, gain: Any, alpha: float) -> Float64[Array, "*b"]:
    """(16) from the halves' counts and the gain in log marginal likelihood."""
    some = (left > 0) & (right > 0)
    orders = gammaln(np.maximum(left, 1)) + gammaln(np.maximum(right, 1))
    orders -= gammaln(np.maximum(left + right, 1))
    return np.where(some, np.log(alpha) + orders + gain, -np.inf)


def log_random_halves(left: Any, right: Any, alpha: float) -> Float64[Array, "*b"]:
    """Ln probability that random halves with weights ~ Dir(alpha/2, alpha/2) are just these."""
    drawn = gammaln(alpha) - 2 * gammaln(alpha / 2) + gammaln(left + alpha / 2)
    return np.asarray(drawn + gammaln(right + alpha / 2) - gammaln(left + right + alpha))


def log_terms(prior: NIW, clusters: Statistics, alpha: float) -> Float64[Array, " K"]:
    """What each cluster, none of them empty, adds to ln p(z, x), up to a constant of n."""
    return np.asarray(np.log(alpha) + gammaln(clusters.counts) + prior.log_marginal(clusters))


def log_joint(prior: NIW, clusters: Statistics, alpha: float) -> float:
    """Ln p(z, x): Chinese restaurant process times marginal likelihoods; no cluster is empty.

    Up to the constant ln p(x) it is the log posterior of the partition.
    """
    n = clusters.counts.sum()
    terms = log_terms(prior, clusters, alpha)
    return float(terms.sum() + gammaln(alpha) - gammaln(n + alpha))
