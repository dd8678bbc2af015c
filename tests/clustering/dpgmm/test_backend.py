"""The backend: clusters become sets."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.clustering import make
from diarize.clustering.dpgmm.backend import AXES, LEAST_AXES, ROWS_PER_AXIS, reduce_rows
from diarize.scatter import Scatter

from ...making import unit, unit_mean


@pytest.fixture
def world(make_world):
    return make_world(n=240, k=3, share=0.5, noise=0.1)


@pytest.mark.parametrize("params", [{"log_alpha": 0.0}, {"n_speakers": 3}])
def test_clusters_that_others_compose_become_sets(world, params):
    model = make("dpgmm", compose=unit_mean, random_state=0, n_iter=40, **params).fit(world.rows)
    assert model.n_speakers_ == 3 and model.n_clusters_ >= 3
    assert model.log_posterior_.shape == (40,)
    if "log_alpha" in params:
        assert np.array_equal(model.sets_.subsumption(), world.truth.subsumption())


def test_bounds_merge_and_split(world):
    for k in (1, 2, 5, 9):
        model = make(
            "dpgmm", compose=unit_mean, random_state=0, n_iter=20, n_chains=2, n_speakers=k
        )
        assert model.fit(world.rows).n_speakers_ == k


def test_without_composition_clusters_are_speakers(world):
    model = make("dpgmm", max_set_size=1, random_state=0, n_iter=40, log_alpha=0.0).fit(world.rows)
    assert model.n_speakers_ == model.n_clusters_ == len(world.truth.distinct()[0])


@pytest.mark.parametrize(
    ("n", "p"), [(40, 5), (300, 50), (1500, 50), (40, 50), (4, 50), (1, 3), (1, 300)]
)
def test_other_rows_go_along_their_own_axes(n, p):
    rows = np.random.default_rng(0).normal(size=(n, p)) + 3
    reduced, prior = reduce_rows(rows)
    axes = min(AXES, max(LEAST_AXES, n // ROWS_PER_AXIS), n)
    assert reduced.shape == (n, p if p <= AXES else axes)
    prior.check()
    assert prior.dimension == reduced.shape[1]
    assert np.allclose(reduced.mean(axis=0), 0, atol=1e-9)
    centered = rows - rows.mean(axis=0)
    if p <= AXES or n <= LEAST_AXES + 1:  # nothing is lost
        assert np.allclose(reduced @ reduced.T, centered @ centered.T, atol=1e-8)


@pytest.mark.parametrize(("n", "k"), [(60, 1), (60, 3), (300, 3), (300, 6)])
def test_few_rows_of_a_foreign_embedding(n, k):
    rng = np.random.default_rng(1)
    truth = np.arange(n) % k
    rows = unit(
        0.8 * unit(rng.normal(size=(k, 192)))[truth] + 0.6 * unit(rng.normal(size=(n, 192)))
    )
    model = make("dpgmm", max_set_size=1, random_state=0).fit(rows)
    assert model.n_speakers_ == k
    assert len(np.unique(np.stack([truth, model.labels_]), axis=1).T) == k


def test_rows_of_the_shipped_embedding_go_along_the_axes_of_its_training():
    from diarize.embedding import load_model

    model = load_model()
    p, known = model.config.dim, model.knowledge.scatter
    rows = np.random.default_rng(0).normal(size=(9, p)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    reduced, prior = reduce_rows(rows, known)
    assert reduced.shape == (9, AXES)
    prior.check()
    # The same row has the same coordinates in any company, and axes are orthonormal.
    assert np.allclose(reduce_rows(rows[:2], known)[0], reduced[:2])
    assert reduce_rows(rows)[0].shape != reduced.shape  # nobody has said whose rows they are
    assert np.allclose(reduce_rows(3 * rows, known)[0], reduce_rows(3 * rows)[0])
    gaps = np.linalg.norm(rows[0] - rows[1]), np.linalg.norm(reduced[0] - reduced[1])
    assert gaps[1] <= gaps[0] + 1e-6
    # A voice scatters far less than voices do.
    assert 0.05 < prior.kappa < 0.5


@pytest.mark.filterwarnings("error")
def test_rows_whose_squares_vanish_are_one():
    found = make("dpgmm", max_set_size=1, random_state=0).fit(np.array([[1e-300], [0.0]]))
    assert found.n_speakers_ == 1


def test_chains_are_sampled_once_however_many_speakers_are_looked_for(make_world, monkeypatch):
    from diarize.clustering.dpgmm import backend

    world = make_world(n=120, k=3, share=0.0, noise=0.1)
    chains = []

    class Chain(backend.DPGMM):
        def fit(self, X, y=None):
            chains.append(super().fit(X, y))
            return self

    monkeypatch.setattr(backend, "DPGMM", Chain)
    alike = Scatter(variance=0.01, dimension=8, alike=-1.0)  # any two are one
    model = make("dpgmm", max_set_size=1, random_state=0, log_alpha=0.0, n_chains=3, scatter=alike)
    for sample_size in (20_000, 60):
        model.set_params(sample_size=sample_size)
        assert model.fit(world.rows).n_speakers_ == 1
        assert len(chains) == 3 and {len(c.labels_) for c in chains} == {min(120, sample_size)}
        chains.clear()
