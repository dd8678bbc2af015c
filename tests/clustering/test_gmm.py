"""The Gaussian mixture against scikit-learn's own."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.mixture import BayesianGaussianMixture

from diarize.clustering.gmm import COVARIANCES, GMM
from diarize.sets import SpeakerSets

from .conftest import unit_mean


@pytest.mark.parametrize("covariance_type", COVARIANCES)
def test_it_answers_what_scikit_learn_answers(covariance_type):
    generator = np.random.default_rng(0)
    rows = np.concatenate([generator.normal(size=(40, 2)) + c for c in ((0, 0), (3, 0), (0, 4))])
    model = GMM(
        n_speakers=3,
        covariance_type=covariance_type,
        threshold=0.35,
        compose=unit_mean,
        n_restarts=3,
        tol=1e-8,
        max_iter=3000,
        random_state=0,
    ).fit(rows)
    scaled = (rows - rows.mean(axis=0)) / np.sqrt(((rows - rows.mean(axis=0)) ** 2).mean())
    peer = BayesianGaussianMixture(
        n_components=3,
        covariance_type=covariance_type,
        n_init=3,
        tol=1e-8,
        max_iter=3000,
        random_state=int(np.random.default_rng(0).integers(2**31)),
    )
    posteriors = peer.fit(scaled).predict_proba(scaled)
    expected = SpeakerSets(posteriors > 0.35).by_first_appearance()
    assert np.abs(posteriors - 0.35).min() > 1e-4
    assert model.sets_ == expected
    assert 0 < (model.sets_.sizes == 2).mean() < 0.5


@pytest.mark.parametrize("covariance_type", COVARIANCES)
def test_fewer_rows_than_dimensions(make_world, covariance_type):
    world = make_world(n=20, k=3, p=40, share=0.0, noise=0.1, dtype=np.float32)
    options = {"covariance_type": covariance_type, "compose": unit_mean, "random_state": 0}
    for n_speakers in (3, 7):  # also components that have nothing to hold
        assert GMM(n_speakers=n_speakers, **options).fit(world.rows).n_speakers_ == n_speakers


def test_the_scale_of_the_rows_does_not_matter(make_world):
    world = make_world(n=60, noise=0.5)
    plain, large, small = (
        GMM(n_speakers=3, compose=unit_mean, random_state=0).fit(scale * world.rows)
        for scale in (1.0, 1e6, 1e-6)
    )
    assert plain.sets_ == large.sets_ == small.sets_
    assert np.allclose(large.centroids_, 1e6 * plain.centroids_)


def test_blocks_change_nothing(make_world, monkeypatch):
    world = make_world(n=60, noise=0.5)
    options = {"n_speakers": 3, "compose": unit_mean, "random_state": 0}
    whole = GMM(**options).fit(world.rows).sets_
    monkeypatch.setattr("diarize.clustering.gmm.BLOCK_VALUES", 7 * 16)
    assert GMM(**options).fit(world.rows).sets_ == whole
