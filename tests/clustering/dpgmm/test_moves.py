"""Hastings ratios against joint probabilities written out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import gammaln

from diarize.clustering.dpgmm.moves import (
    log_joint,
    log_merge_ratio,
    log_random_halves,
    log_split_ratio,
    split_ratio_of_gain,
)
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.statistics import Features

ALPHA = 0.7


@pytest.fixture
def halves():
    x = np.random.default_rng(0).normal(size=(11, 2))
    features = Features(2, True)
    phi = features.of(torch.from_numpy(x)).numpy()
    left, right = (features.statistics(part.sum(axis=0)) for part in (phi[:4], phi[4:]))
    return NIW.from_data(x), left, right, features.statistics(phi.sum(axis=0)[None])


def stack(*parts):
    from diarize.clustering.dpgmm.statistics import Statistics

    names = ("counts", "sums", "squares")
    return Statistics(*(np.stack([getattr(p, name) for p in parts]) for name in names))


def test_the_split_ratio_is_that_of_the_joint_probabilities(halves):
    prior, left, right, both = halves
    gap = log_joint(prior, stack(left, right), ALPHA) - log_joint(prior, both, ALPHA)
    assert log_split_ratio(prior, left, right, ALPHA) == pytest.approx(gap)
    # (17) is its reciprocal.
    merge = (
        gammaln(11) - gammaln(4) - gammaln(7) - np.log(ALPHA)
        + prior.log_marginal(left + right) - prior.log_marginal(left) - prior.log_marginal(right)
    )  # fmt: skip
    assert -log_split_ratio(prior, left, right, ALPHA) == pytest.approx(float(merge))


def test_the_full_merge_ratio_written_out(halves):
    prior, left, right, _ = halves
    n, sizes = 11, np.array([4, 7])
    expected = (
        -np.log(ALPHA) + gammaln(ALPHA) - 2 * gammaln(ALPHA / 2) + gammaln(n) - gammaln(n + ALPHA)
        + (gammaln(sizes + ALPHA / 2) - gammaln(sizes)).sum()
        + prior.log_marginal(left + right) - prior.log_marginal(left) - prior.log_marginal(right)
    )  # fmt: skip
    assert log_merge_ratio(prior, left, right, ALPHA) == pytest.approx(float(expected))


def test_random_halves_are_a_distribution():
    n = 6
    sizes = np.arange(n + 1.0)
    ways = np.exp(gammaln(n + 1) - gammaln(sizes + 1) - gammaln(n - sizes + 1))
    assert (ways * np.exp(log_random_halves(sizes, n - sizes, ALPHA))).sum() == pytest.approx(1)


def test_empty_halves_cannot_be_split_off():
    counts = np.array([0.0, 3.0])
    ratios = split_ratio_of_gain(counts, counts[::-1].copy(), np.zeros(2), ALPHA)
    assert (ratios == -np.inf).all()


def test_names_do_not_matter(halves):
    prior, left, right, _ = halves
    one, other = stack(left, right), stack(right, left)
    assert log_joint(prior, one, ALPHA) == pytest.approx(log_joint(prior, other, ALPHA))
    assert log_merge_ratio(prior, left, right, ALPHA) == pytest.approx(
        float(log_merge_ratio(prior, right, left, ALPHA))
    )
