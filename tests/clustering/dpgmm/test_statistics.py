"""Features and their sums against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from diarize.clustering.dpgmm.statistics import Features, Gaussians, blocks


@pytest.mark.parametrize("D", [1, 2, 5])
@pytest.mark.parametrize("full", [True, False])
def test_sums_of_features_are_the_statistics(D, full):
    x = np.random.default_rng(0).normal(size=(30, D))
    features = Features(D, full)
    phi = features.of(torch.from_numpy(x)).numpy()
    assert phi.shape == (30, features.size)
    seen = features.statistics(phi.sum(axis=0))
    assert seen.counts == 30
    assert np.allclose(seen.sums, x.sum(axis=0))
    assert np.allclose(seen.squares, x.T @ x if full else (x**2).sum(axis=0))
    half = features.statistics(np.stack([phi[:10].sum(axis=0), phi[10:].sum(axis=0)]))
    both = half[0] + half[1]
    assert np.allclose(both.squares, seen.squares) and both.counts == 30


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


def test_blocks_cover_all_rows():
    for n in (0, 1, 7, 100):
        for rows in (None, 1, 3, 100):
            covered = [i for block in blocks(n, 5, rows) for i in range(n)[block]]
            assert covered == list(range(n))
