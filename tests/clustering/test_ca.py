"""The greedy assignment against Algorithm 1 as it is printed, with a prior."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import gammaln
from sklearn.exceptions import ConvergenceWarning

from diarize.clustering import make
from diarize.clustering.ca import assign, combine
from diarize.scoring import compositional_rand_index

from .conftest import unit_mean


def literal(distances: np.ndarray, sigma: float, prior: np.ndarray) -> np.ndarray:
    """Algorithm 1: all costs anew in each step; the first minimum is the lowest (i, j)."""
    n, k = distances.shape
    counts = np.zeros(k, int)
    labels = np.full(n, -1)
    costs = distances - 2 * sigma * np.log(prior)
    for _ in range(n):
        free = labels < 0
        offsets = np.array([2 * sigma * math.log(c + 1) for c in counts])
        competing = np.where(free[:, None], costs + offsets, np.inf)
        i, j = np.unravel_index(competing.argmin(), competing.shape)
        labels[i] = j
        counts[j] += 1
    return labels


def test_it_is_the_printed_algorithm_on_thousands_of_cases() -> None:
    rng = np.random.default_rng(0)
    for _ in range(3000):
        n, k = int(rng.integers(1, 14)), int(rng.integers(1, 6))
        distances = rng.exponential(size=(n, k)) * 10 ** rng.uniform(-2, 2)
        if rng.random() < 0.5:  # many ties
            distances = rng.integers(0, 3, (n, k)).astype(float)
        prior = rng.dirichlet(np.full(k, 2.0)) if rng.random() < 0.5 else np.full(k, 1 / k)
        sigma = float(rng.choice([0.0, 0.1, 1.0, 100.0]))
        expected = literal(distances, sigma, prior / prior.sum())
        assert assign(distances, sigma, prior).tolist() == expected.tolist()


@given(st.integers(1, 60), st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_rows_that_coincide_are_dealt_out_evenly(n: int, k: int, seed: int) -> None:
    distances = np.random.default_rng(seed).uniform(size=(1, 1)) * np.ones((n, k))
    counts = np.bincount(assign(distances, 1.0), minlength=k)
    assert counts.max() - counts.min() <= 1


def test_coinciding_rows_follow_the_prior() -> None:
    labels = assign(np.zeros((1000, 3)), 0.5, [0.7, 0.2, 0.1])
    assert np.bincount(labels).tolist() == pytest.approx([700, 200, 100], abs=2)


def test_unequal_clusters_of_unit_vectors_stay_unequal_at_a_tenth() -> None:
    """The paper's 100 makes clusters of unit vectors equal, whatever the rows say."""
    rng = np.random.default_rng(3)
    truth = np.repeat(np.arange(4), [200, 40, 12, 4])
    rows = np.eye(16)[truth] + rng.normal(0, 0.1, (256, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    distances = 2 - 2 * rows @ np.eye(16)[:, :4]
    assert np.bincount(assign(distances, 100.0)).tolist() == [64, 64, 64, 64]
    assert np.array_equal(assign(distances, 0.1), truth)


def test_it_is_near_the_best_assignment() -> None:
    """Objective (5), against all assignments of six rows to three clusters; exact half the time."""
    rng = np.random.default_rng(4)
    gaps = []
    for _ in range(60):
        distances, prior = rng.exponential(2.0, (6, 3)), rng.dirichlet(np.full(3, 5.0))

        def objective(labels, d=distances, p=prior) -> float:
            labels = np.array(labels)
            fit = d[np.arange(6), labels].sum() / 2 - np.log(p[labels]).sum()
            return float(fit + gammaln(np.bincount(labels, minlength=3) + 1).sum())

        best = min(objective(labels) for labels in product(range(3), repeat=6))
        gaps.append(objective(assign(distances, 1.0, prior)) - best)
    assert min(gaps) > -1e-9
    assert np.median(gaps) < 0.05 and max(gaps) < 1.5


def test_rows_that_may_not_belong() -> None:
    distances = np.array([[np.inf, 3.0], [0.0, np.inf], [np.inf, 5.0]])
    assert assign(distances, 1.0).tolist() == [1, 0, 1]
    assert assign(np.zeros((0, 3)), 1.0).tolist() == []


@pytest.mark.parametrize(
    ("distances", "sigma", "prior", "reason"),
    [
        (np.zeros((2, 0)), 1.0, None, "there is no cluster"),
        (np.zeros((2, 2)), -1.0, None, "sigma must be a finite number"),
        (np.zeros((2, 2)), np.inf, None, "sigma must be a finite number"),
        (np.full((2, 2), np.nan), 1.0, None, "not a number"),
        (np.full((2, 2), np.inf), 1.0, None, "no cluster"),
        (np.zeros((2, 2)), 1.0, [1.0], "2 positive numbers"),
        (np.zeros((2, 2)), 1.0, [1.0, 0.0], "2 positive numbers"),
        (np.zeros((2, 2)), 1.0, [1.0, np.inf], "2 positive numbers"),
    ],
)
def test_what_cannot_be_used_is_refused(distances, sigma, prior, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        assign(distances, sigma, prior)


def fit(rows, **params):
    return make("ca", compose=unit_mean, random_state=0, **params).fit(rows)


def test_mixtures_become_sets_of_their_speakers(make_world):
    world = make_world(n=240, k=3, share=0.3)
    model = fit(world.rows)
    assert model.n_speakers_ == 3
    assert model.n_clusters_ == 6  # three speakers, three pairs
    assert compositional_rand_index(world.truth, model.sets_) > 0.97
    assert model.n_iter_ <= 50


def test_unequal_speakers_are_found_at_the_default_sigma():
    """The paper's sigma would make them equal."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), [200, 40, 12, 6])
    rows = np.eye(16)[truth] + rng.normal(0, 0.1, (258, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.bincount(make("ca", max_set_size=1).fit(rows).labels_).tolist() == [200, 40, 12, 6]
    with pytest.warns(ConvergenceWarning, match="CA has not converged"):
        equal = make("ca", max_set_size=1, n_speakers=4, sigma=100.0, max_iter=1).fit(rows)
    assert np.ptp(np.bincount(equal.labels_)) <= 1


def test_steps_settle_and_lose_no_cluster(make_world):
    world = make_world(n=80, k=3, noise=0.8)
    start = np.arange(80) % 5
    labels, steps = combine(world.rows, start, 0.05, 100)
    assert steps < 100 and len(np.unique(labels)) == 5
    again, more = combine(world.rows, labels, 0.05, 100)
    assert np.array_equal(again, labels) and more == 0
    # One far row keeps a cluster that would be lost: nothing is done.
    rows = np.array([[0.0], [0.1], [0.2], [0.15]])
    alone, _ = combine(rows, np.array([0, 0, 0, 1]), 0.0, 10)
    assert set(alone.tolist()) == {0, 1}


def test_compact_clusters_on_a_sphere_stay_whole() -> None:
    rng = np.random.default_rng(0)
    rows = 6 * rng.normal(size=(6, 16))[np.arange(6000) % 6] + rng.normal(size=(6000, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    for seed in (0, 2):  # of the sample
        assert make("ca", max_set_size=1, random_state=seed).fit(rows).n_speakers_ == 6
