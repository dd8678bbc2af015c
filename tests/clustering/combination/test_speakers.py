"""The backend `ca`: clusters that resist growing, and what they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.clustering import make
from diarize.clustering.combination.speakers import combine
from diarize.scoring import compositional_rand_index

from ..conftest import unit_mean


def fit(rows, **params):
    return make("ca", compose=unit_mean, random_state=0, **params).fit(rows)


def test_mixtures_become_sets_of_their_speakers(make_world):
    world = make_world(n=240, k=3, share=0.3)
    model = fit(world.rows)
    assert model.n_speakers_ == 3
    assert model.n_clusters_ == 6  # three speakers, three pairs
    assert compositional_rand_index(world.truth, model.sets_) > 0.97
    assert model.n_iter_ <= 50


def test_one_speaker_each_without_composition(make_world):
    world = make_world(n=60, k=4, share=0.0)
    model = make("ca", max_set_size=1).fit(world.rows)
    assert model.n_speakers_ == 4
    assert compositional_rand_index(world.truth, model.sets_) == 1.0


def test_unequal_speakers_are_found_at_the_default_sigma():
    """The paper's sigma would make them equal."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), [200, 40, 12, 6])
    rows = np.eye(16)[truth] + rng.normal(0, 0.1, (258, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.bincount(make("ca", max_set_size=1).fit(rows).labels_).tolist() == [200, 40, 12, 6]
    equal = make("ca", max_set_size=1, n_speakers=4, sigma=100.0, max_iter=1).fit(rows)
    assert np.ptp(np.bincount(equal.labels_)) <= 1


def test_many_rows_are_sampled(make_world):
    world = make_world(n=300, k=3, share=0.2)
    model = fit(world.rows, sample_size=180)
    assert model.sampled_ == 180 and len(model.sets_) == 300
    assert compositional_rand_index(world.truth, model.sets_) > 0.9


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


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"sigma": -0.1}, "sigma must be a finite number of at least 0"),
        ({"threshold": -1.0}, "threshold must be a finite number"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1"),
        ({"count_penalty": np.nan}, "count_penalty must be a finite number"),
    ],
)
def test_options_that_make_no_sense_are_refused(params, reason):
    with pytest.raises(ValueError, match=reason):
        fit(np.eye(3), **params)
