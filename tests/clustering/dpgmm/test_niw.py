"""The normal-inverse-Wishart against predictive densities, integrals and one-row updates."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.integrate import dblquad
from scipy.special import gammaln
from scipy.stats import invwishart, multivariate_normal, multivariate_t

from diarize.clustering.dpgmm.moves import (
    log_joint,
    log_random_halves,
    log_split_ratio,
    split_ratio_of_gain,
)
from diarize.clustering.dpgmm.niw import NIW, Gaussians, cholesky
from diarize.clustering.dpgmm.statistics import Features


def some_prior(D, full, seed=0):
    generator = np.random.default_rng(seed)
    A = generator.normal(size=(D, D))
    psi = A @ A.T + np.eye(D) if full else generator.uniform(0.5, 2, D)
    return NIW(generator.normal(size=D), 0.7, psi, D + 1.5)


def statistics(x, full):
    features = Features(x.shape[1], full)
    return features.statistics(features.of(torch.from_numpy(x)).numpy().sum(axis=0))


def log_predictive(prior, x):
    """ln density of one more row: a Student t, or one for each dimension."""
    if not prior.full:
        parts = [
            NIW(prior.mean[[d]], prior.kappa, prior.psi[[d]][None], prior.nu) for d in range(len(x))
        ]
        return sum(log_predictive(p, x[[d]]) for d, p in enumerate(parts))
    D = len(x)
    freedom = prior.nu - D + 1
    shape = prior.psi * (prior.kappa + 1) / (prior.kappa * freedom)
    return multivariate_t(prior.mean, shape, freedom).logpdf(x)


@pytest.mark.parametrize("D", [1, 2, 4])
@pytest.mark.parametrize("full", [True, False])
def test_marginal_likelihood_is_the_product_of_predictive_densities(D, full):
    x = np.random.default_rng(D).normal(size=(6, D)) * 2
    prior = some_prior(D, full)
    total, now = 0.0, prior
    for row in x:
        total += log_predictive(now, row)
        now = now.posterior(statistics(row[None], full))
    assert np.isclose(prior.log_marginal(statistics(x, full)), total)
    # And the posterior does not mind whether rows come one at a time.
    at_once = prior.posterior(statistics(x, full))
    assert np.allclose(at_once.mean, now.mean) and np.allclose(at_once.psi, now.psi)
    assert at_once.kappa == pytest.approx(now.kappa) and at_once.nu == pytest.approx(now.nu)


def test_marginal_likelihood_is_an_integral():
    x = np.array([0.3, -0.4, 1.0])
    prior = NIW(np.array([0.2]), 0.8, np.array([[1.3]]), 4.0)

    def joint(mean, variance):  # scipy's own densities take a hundred times as long
        squares = sum((value - mean) ** 2 for value in x.tolist()) + 0.8 * (mean - 0.2) ** 2
        normals = math.exp(-squares / (2 * variance)) * (2 * math.pi * variance) ** -2 * 0.8**0.5
        return normals * 0.65**2 * variance**-3 * math.exp(-0.65 / variance)

    integral, _ = dblquad(joint, 1e-3, 40, -8, 8)
    assert np.log(integral) == pytest.approx(
        float(prior.log_marginal(statistics(x[:, None], True))), abs=1e-3
    )


@pytest.mark.parametrize("full", [True, False])
def test_draws_have_the_moments_of_the_distribution(full):
    generator = np.random.default_rng(5)
    D, count = 3, 40_000
    one = some_prior(D, full)
    nu = D + 12.0
    batch = NIW(
        np.tile(one.mean, (count, 1)), np.full(count, 0.7),
        np.tile(one.psi, (count, *[1] * one.psi.ndim)), np.full(count, nu),
    )  # fmt: skip
    drawn = batch.draw(generator)
    expected = one.psi / (nu - D - 1) if full else one.psi / (nu - 2)
    assert np.allclose(drawn.covariances.mean(axis=0), expected, rtol=0.03, atol=0.02)
    spread = np.cov(drawn.means.T)
    wanted = expected / 0.7 if full else np.diag(expected / 0.7)
    assert np.allclose(spread, wanted, rtol=0.06, atol=0.03)
    if full:  # the second moment as well, against scipy's
        theirs = invwishart(nu, one.psi).rvs(count, random_state=1)
        assert np.allclose(drawn.covariances.std(axis=0), theirs.std(axis=0), rtol=0.1)


def test_the_default_prior_fits_the_rows_whatever_they_are():
    rows = np.random.default_rng(0).normal(size=(50, 3)) * [1e8, 1.0, 0.0]
    for diagonal in (False, True):
        prior = NIW.from_data(rows, diagonal=diagonal)
        prior.check()
        assert prior.full != diagonal
    NIW.from_data(np.ones((1, 4))).check()


def test_units_change_densities_by_their_jacobian():
    rows = np.random.default_rng(0).normal(size=(9, 2)) * [3.0, 50.0] + 7
    center, scale = np.array([6.0, 8.0]), np.array([2.0, 40.0])
    for full in (True, False):
        prior = NIW.from_data(rows, diagonal=not full)
        small = prior.standardised(center, scale)
        direct = prior.log_marginal(statistics(rows, full))
        moved = small.log_marginal(statistics((rows - center) / scale, full))
        assert direct == pytest.approx(float(moved - 9 * np.log(scale).sum()))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"kappa": 0.0}, "kappa must be above 0"),
        ({"nu": 1.0}, "nu must be above 1"),
        ({"psi": -np.eye(2)}, "positive definite"),
        ({"psi": np.array([[1.0, 0.5], [0.0, 1.0]])}, "symmetric"),
        ({"psi": np.eye(3)}, "psi \\(D, D\\) or \\(D,\\)"),
        ({"mean": np.array([0.0, np.nan])}, "finite"),
    ],
)
def test_improper_priors_are_refused(change, reason):
    params = {"mean": np.zeros(2), "kappa": 1.0, "psi": np.eye(2), "nu": 4.0}
    with pytest.raises(ValueError, match=reason):
        NIW(**{**params, **change}).check()


def test_rounding_does_not_end_a_decomposition():
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-16]]) - 1e-17
    root = cholesky(nearly[None])[0]
    assert np.allclose(root @ root.T, nearly, atol=1e-12)


@pytest.mark.parametrize("full", [True, False])
def test_densities_are_linear_in_the_features(full):
    generator = np.random.default_rng(1)
    D, K = 4, 3
    roots = generator.normal(size=(K, D, D)) if full else generator.uniform(0.5, 2, (K, D))
    gaussians = Gaussians(generator.normal(size=(K, D)), roots)
    x = generator.normal(size=(20, D))
    features = Features(D, full)
    found = features.of(torch.from_numpy(x)).numpy() @ features.weights(gaussians).T
    for k in range(K):
        covariance = gaussians.covariances[k] if full else np.diag(gaussians.covariances[k])
        expected = multivariate_normal(gaussians.means[k], covariance).logpdf(x)
        assert np.allclose(found[:, k], expected)


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


def test_random_halves_are_a_distribution():
    n = 6
    sizes = np.arange(n + 1.0)
    ways = np.exp(gammaln(n + 1) - gammaln(sizes + 1) - gammaln(n - sizes + 1))
    assert (ways * np.exp(log_random_halves(sizes, n - sizes, ALPHA))).sum() == pytest.approx(1)


def test_empty_halves_cannot_be_split_off():
    counts = np.array([0.0, 3.0])
    ratios = split_ratio_of_gain(counts, counts[::-1].copy(), np.zeros(2), ALPHA)
    assert (ratios == -np.inf).all()
