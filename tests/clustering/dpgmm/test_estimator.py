"""The estimator: what it learns, and what it bears."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from diarize.clustering.dpgmm import DPGMM, NIW


def islands(k=4, n=400, D=2, seed=0):
    generator = np.random.default_rng(seed)
    truth = np.arange(n) % k
    return 15 * generator.normal(size=(k, D))[truth] + generator.normal(size=(n, D)), truth


def quick(**params):
    return DPGMM(**{"n_iter": 40, "random_state": 0, **params})


@pytest.mark.parametrize("init", ["random", "kmeans", "splitnet"])
@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_islands_are_found_and_described(init, covariance_type):
    x, truth = islands()
    model = quick(init=init, covariance_type=covariance_type, n_iter=60).fit(x)
    assert adjusted_rand_score(truth, model.labels_) == 1.0
    assert model.n_clusters_ == 4
    assert model.weights_.sum() == pytest.approx(1) and (np.diff(model.weights_) <= 0).all()
    assert model.log_posterior_.shape == (60,) and np.isfinite(model.log_posterior_).all()
    for k in range(4):
        members = x[model.labels_ == k]
        assert np.allclose(model.means_[k], members.mean(axis=0), atol=0.3)
        covariance = np.cov(members.T)
        if covariance_type == "diag":
            covariance = np.diag(covariance)
        assert np.allclose(model.covariances_[k], covariance, atol=0.8)
    assert (model.predict(x) == model.labels_).all()


def test_densities_are_those_of_the_mixture():
    x, _ = islands()
    model = quick().fit(x * [1.0, 30.0] + 5)
    new = np.random.default_rng(1).normal(size=(7, 2)) * [10.0, 300.0]
    parts = np.stack(
        [
            w * multivariate_normal(m, c).pdf(new)
            for w, m, c in zip(model.weights_, model.means_, model.covariances_, strict=True)
        ],
        axis=1,
    )
    assert np.allclose(model.score_samples(new), np.log(parts.sum(axis=1)))
    assert np.allclose(model.predict_proba(new), parts / parts.sum(axis=1, keepdims=True))
    assert model.score(new) == pytest.approx(np.log(parts.sum(axis=1)).mean())


def test_samples_come_from_the_mixture():
    x, _ = islands()
    model = quick().fit(x)
    drawn, labels = model.sample(4000)
    for k in range(model.n_clusters_):
        assert np.allclose(drawn[labels == k].mean(axis=0), model.means_[k], atol=0.3)
    assert np.mean(model.predict(drawn) == labels) > 0.98


def test_units_do_not_matter():
    x, _ = islands()
    small = quick().fit(x)
    large = quick().fit(x * 1e8)
    assert np.array_equal(small.labels_, large.labels_)
    jacobian = x.size * np.log(1e8)
    assert np.allclose(small.log_posterior_, large.log_posterior_ + jacobian, rtol=1e-6)


def odd_inputs():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(30, 3))
    yield "one row", x[:1]
    yield "two rows", x[:2]
    yield "fewer rows than dimensions", generator.normal(size=(4, 9))
    yield "duplicates", np.repeat(x[:2], 20, axis=0)
    yield "all alike", np.full((20, 3), 0.1)
    yield "singular", np.stack([x[:, 0], 2 * x[:, 0], -x[:, 0]], axis=1)
    yield "a constant column", x * [1.0, 0.0, 1.0] + 3
    yield "large", x * 1e8 + 1e9
    yield "tiny", x * 1e-30
    yield "integers", (10 * x).astype(int)
    yield "one dimension", x[:, :1]


@pytest.mark.parametrize(("what", "x"), list(odd_inputs()))
@pytest.mark.parametrize("covariance_type", ["full", "diag"])
def test_odd_rows_are_borne(what, x, covariance_type):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for init in ("random", "kmeans"):
            model = quick(init=init, covariance_type=covariance_type, n_iter=15).fit(x)
            for learned in (model.weights_, model.means_, model.covariances_,
                            model.log_posterior_, model.predict_proba(x)):  # fmt: skip
                assert np.isfinite(learned).all()
            assert len(model.labels_) == len(x)


def test_one_seed_one_answer():
    x, _ = islands(k=6, n=120)
    first, second = quick().fit(x), quick().fit(x)
    assert np.array_equal(first.labels_, second.labels_)
    assert np.array_equal(first.log_posterior_, second.log_posterior_)
    assert clone(first).get_params() == first.get_params()


def test_the_answer_is_no_worse_than_the_best_partition_seen():
    from diarize.clustering.dpgmm.moves import log_joint
    from diarize.clustering.dpgmm.statistics import Statistics

    generator = np.random.default_rng(0)
    x = 3 * generator.normal(size=(6, 2))[np.arange(500) % 6] + generator.normal(size=(500, 2))
    model = quick().fit(x)  # clusters that overlap
    parts = [x[model.labels_ == k] for k in range(model.n_clusters_)]
    seen = Statistics(
        np.array([float(len(p)) for p in parts]),
        np.stack([p.sum(axis=0) for p in parts]),
        np.stack([p.T @ p for p in parts]),
    )
    assert log_joint(model.prior_, seen, 1.0) > model.log_posterior_.max() - 1e-6


def dense(k=40, n=4000, seed=0):
    generator = np.random.default_rng(seed)
    truth = generator.integers(0, k, n)
    return 6 * generator.normal(size=(k, 2))[truth] + generator.normal(size=(n, 2)), truth


def test_two_means_leave_a_single_cluster_of_many_dense_ones():
    # Regression: every cut through the middle costs more than it gains (16), and chains from one
    # cluster stayed there.
    x, truth = dense()
    assert quick(init="random").fit(x).n_clusters_ == 1
    model = quick().fit(x)
    assert model.n_clusters_ > 10
    assert adjusted_rand_score(truth, model.labels_) > 0.4


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"init": "kmean"}, "init must be one of"),
        ({"covariance_type": "tied"}, "covariance_type must be one of"),
        ({"alpha": 0.0}, "alpha must be above 0"),
        ({"n_iter": 0}, "n_iter must be an integer"),
        ({"burn_in": -1}, "burn_in must be an integer"),
        ({"prior": NIW(np.zeros(3), 1.0, np.eye(3), 5.0)}, "the prior has 3 dimensions, X has 2"),
        ({"prior": NIW(np.zeros(2), 1.0, np.ones(2), 5.0)}, "does not go with a prior"),
    ],
)
def test_options_that_make_no_sense_are_refused(params, reason):
    with pytest.raises(ValueError, match=reason):
        DPGMM(**params).fit(islands(n=10)[0])


def test_rows_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="X has no rows"):
        DPGMM().fit(np.zeros((0, 2)))
    model = quick(n_iter=2).fit(islands(n=10)[0])
    with pytest.raises(ValueError, match="3 columns, the fit had 2"):
        model.predict(np.zeros((1, 3)))
