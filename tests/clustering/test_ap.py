"""Affinity propagation against scikit-learn's own, and against all sets of exemplars."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import AffinityPropagation

from diarize.clustering import ap
from diarize.clustering.ap import AP, grow, pairwise_squares
from diarize.sets import SpeakerSets

from .conftest import unit


def fit(rows, **options):
    return AP(max_set_size=1, random_state=0, **options).fit(rows)


def served(distances, exemplars):
    return distances[:, list(exemplars)].min(axis=1).sum()


@pytest.mark.parametrize("block", [7, 512])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances(block, dtype, monkeypatch):
    monkeypatch.setattr(ap, "BLOCK", block)
    rows = (np.random.default_rng(0).normal(size=(30, 4)) + 50).astype(dtype)
    wide = rows.astype(np.float64)
    expected = ((wide[:, None] - wide) ** 2).sum(axis=2)
    found = pairwise_squares(rows)
    assert found.dtype == dtype
    assert np.allclose(found, expected, rtol=1e-3, atol=1e-4)
    assert (np.diagonal(found) == 0).all()


@pytest.mark.parametrize("preference", [-0.6, -2.0, -5.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_exemplars_are_those_of_scikit_learn(make_world, preference, dtype):
    world = make_world(n=80, k=4, noise=0.9, dtype=dtype)
    peer = AffinityPropagation(preference=preference, damping=0.65, random_state=0).fit(world.rows)
    model = fit(world.rows, preference=preference, max_speakers=80)
    assert model.sets_ == SpeakerSets.from_labels(peer.labels_).by_first_appearance()
    assert model.preference_ == preference
    assert model.n_iter_ > 15


@pytest.mark.parametrize("seed", range(3))
def test_exemplars_are_the_best_there_are(make_world, seed):
    world = make_world(n=12, k=3, share=0.3, noise=0.6, seed=seed)
    distances = pairwise_squares(world.rows)
    value, best = min(
        (served(distances, exemplars) + 0.9 * size, exemplars)
        for size in range(1, 6)
        for exemplars in combinations(range(12), size)
    )
    model = fit(world.rows, preference=-0.9)
    labels = distances[:, best].argmin(axis=1)
    assert model.sets_ == SpeakerSets.from_labels(labels).by_first_appearance()
    assert value > 0


def test_exemplars_are_added_one_by_one():
    distances = pairwise_squares(np.array([[0.0], [1.0], [1.1], [5.0], [5.2]]))
    none = np.zeros(0, dtype=np.int64)
    first, saved = grow(distances, none, 1)
    assert first.tolist() == [2]  # whose column has the least sum
    assert saved == np.inf
    both, saved = grow(distances, first, 2)
    assert served(distances, both) == min(served(distances, [2, j]) for j in range(5))
    assert saved == pytest.approx(served(distances, [2]) - served(distances, both))
    assert sorted(grow(distances, none, 5)[0]) == [0, 1, 2, 3, 4]
    assert sorted(grow(np.zeros((3, 3)), none, 3)[0]) == [0, 1, 2]  # even if nothing is saved


@pytest.mark.parametrize("preference", [None, -0.01, -1.0, -100.0])
def test_bounds_rule_over_the_preference(make_world, preference):
    rows = make_world(n=60, k=4, noise=0.5).rows
    for k in (1, 2, 4, 9, 60):
        assert fit(rows, preference=preference, n_speakers=k).n_speakers_ == k
    assert fit(rows, preference=preference, max_speakers=3).n_speakers_ <= 3
    assert fit(rows, preference=preference, min_speakers=7).n_speakers_ >= 7


def test_messages_that_swing_are_damped_until_they_settle():
    generator = np.random.default_rng(0)
    places = unit(generator.normal(size=(2, 8)))
    labels = generator.integers(2, size=300)
    rows = unit(places[labels] + 0.05 * generator.normal(size=(300, 8)))
    # At 0.825 every row is an exemplar for 15 iterations, which scikit-learn takes for settled.
    for damping in (0.65, 0.825):
        model = fit(rows, preference=-150.0, damping=damping)
        assert 1 <= model.n_speakers_ <= 2


def test_an_exemplar_costs_something():
    with pytest.raises(ValueError, match=r"preference must be at most 0, got 0.5"):
        fit(np.eye(3), preference=0.5)
