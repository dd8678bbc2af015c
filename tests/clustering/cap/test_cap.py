"""Compositional affinity propagation against trying all sets of exemplars."""

from __future__ import annotations

import warnings
from itertools import combinations

import numpy as np
import pytest
from sklearn.cluster import AffinityPropagation
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from diarize.clustering.cap import CAP
from diarize.clustering.cap import estimator as cap
from diarize.clustering.composition import compose_sets

from ..conftest import unit, unit_mean

TRIALS = 40
OPTIMAL = 0.85
"""Least share of random trials in which the objective is the largest there is."""


def objective(model, rows, g, preference, squared=True, set_penalty=0.0):
    """The objective, row by row, from what the estimator answers."""
    centers = compose_sets(g, rows[model.exemplars_], model.sets_.membership)
    distances = ((rows - centers) ** 2).sum(axis=1) + set_penalty * (model.sets_.sizes - 1)
    similarities = -distances if squared else -np.sqrt(distances)
    similarities[model.exemplars_] = preference
    return similarities.sum()


def best_objective(rows, d, g, preference):
    """The largest objective of all sets of exemplars: each other row to its best composition."""
    n = len(rows)
    sets = [c for size in range(1, d + 1) for c in combinations(range(n), size)]
    membership = np.zeros((len(sets), n), dtype=bool)
    for number, c in enumerate(sets):
        membership[number, list(c)] = True
    centers = compose_sets(g, rows, membership)
    similarities = -((rows[:, None] - centers) ** 2).sum(axis=2)
    best = -np.inf
    for chosen in range(1, 2**n):
        is_exemplar = (chosen >> np.arange(n)) & 1 == 1
        inside = ~(membership & ~is_exemplar).any(axis=1)
        total = similarities[np.ix_(~is_exemplar, inside)].max(axis=1).sum()
        best = max(best, total + preference * is_exemplar.sum())
    return best


def fit(rows, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return CAP(**{"compose": unit_mean, "random_state": 0, **options}).fit(rows)


def check_feasible(model):
    """Whoever is used designates itself alone."""
    sets = model.sets_.membership
    assert len(model.exemplars_) == model.n_speakers_ == sets.shape[1]
    assert np.array_equal(sets[model.exemplars_], np.eye(model.n_speakers_, dtype=bool))


@pytest.mark.parametrize("d", [1, 2, 3])
def test_most_answers_are_the_best_there_is(d):
    found = []
    for seed in range(TRIALS):
        generator = np.random.default_rng(seed)
        rows = unit(generator.normal(size=(9 if d < 3 else 8, 4)))
        preference = float(-generator.uniform(0.2, 1.5))
        model = fit(rows, max_set_size=d, preference=preference)
        check_feasible(model)
        best = best_objective(rows, d, unit_mean, preference)
        assert model.objective_ <= best + 1e-5
        assert np.isclose(model.objective_, objective(model, rows, unit_mean, preference))
        found.append(model.objective_ >= best - 1e-5)
    assert np.mean(found) >= OPTIMAL


@pytest.mark.parametrize("d", [2, 3])
def test_it_is_the_best_where_compositions_are_plain(d):
    # Three speakers, their pairs, and with d = 3 all of them.
    parts = np.eye(3) * [1.0, 1.1, 1.2]
    sets = [c for size in range(1, d + 1) for c in combinations(range(3), size)]
    rows = np.array([parts[list(c)].max(axis=0) for c in sets] + list(parts))
    rows = rows + 0.02 * np.random.default_rng(0).normal(size=rows.shape)
    model = fit(rows, compose=np.maximum, max_set_size=d, preference=-0.4)
    assert model.sets_.to_lists() == [list(c) for c in sets] + [[0], [1], [2]]
    assert np.isclose(model.objective_, best_objective(rows, d, np.maximum, -0.4), atol=1e-5)


@pytest.mark.parametrize("d", [2, 3])
def test_it_finds_who_is_in_every_row(make_world, d):
    world = make_world(n=40, k=4, share=0.4)
    for options in ({}, {"n_speakers": 4}, {"preference": -1.0}):
        model = fit(world.rows, max_set_size=d, **options)
        assert model.n_speakers_ == 4
        assert np.array_equal(model.sets_.subsumption(), world.truth.subsumption())
        check_feasible(model)
        assert model.converged_
        assert 0 < model.n_iter_ < model.max_iter


def test_scores_made_on_the_fly_lead_to_the_same_answer(make_world):
    world = make_world(n=80, noise=0.8)
    kept = fit(world.rows, preference=-2.0)
    made = fit(world.rows, preference=-2.0, memory_budget=1)
    assert np.array_equal(kept.exemplars_, made.exemplars_)
    assert kept.sets_ == made.sets_
    assert kept.n_iter_ == made.n_iter_


@pytest.mark.parametrize("options", [{}, {"preference": -1.5}, {"n_speakers": 4}])
def test_the_order_of_rows_does_not_matter(make_world, options):
    world = make_world(n=50, noise=0.9)
    order = np.random.default_rng(1).permutation(50)
    one, other = fit(world.rows, **options), fit(world.rows[order], **options)
    assert set(order[other.exemplars_]) == set(one.exemplars_)
    assert np.array_equal(other.sets_.subsumption(), one.sets_.subsumption()[np.ix_(order, order)])
    assert np.isclose(one.objective_, other.objective_)


def test_a_rotation_of_space_and_composition_does_not_matter():
    generator = np.random.default_rng(2)
    rows = generator.random((30, 4))
    turn = np.linalg.qr(generator.normal(size=(4, 4)))[0]
    one = fit(rows, compose=np.maximum, preference=-0.3)
    other = fit(
        rows @ turn, compose=lambda a, b: np.maximum(a @ turn.T, b @ turn.T) @ turn, preference=-0.3
    )
    assert np.array_equal(one.exemplars_, other.exemplars_)
    assert one.sets_ == other.sets_


def test_a_change_of_unit_does_not_matter(make_world):
    rows = make_world(n=40, noise=0.9).rows
    one = fit(rows, compose=np.maximum, preference=-0.5)
    for factor in (1e-6, 1e7):
        other = fit(factor * rows, compose=np.maximum, preference=-0.5 * factor**2)
        assert np.array_equal(one.exemplars_, other.exemplars_)
        assert other.objective_ == pytest.approx(one.objective_ * factor**2, rel=1e-5)


def test_single_speakers_are_plain_affinity_propagation(make_world):
    world = make_world(n=60, k=4, share=0.0, noise=0.4)
    model = fit(world.rows, max_set_size=1, compose=None, preference=-1.0)
    peer = AffinityPropagation(preference=-1.0, damping=0.65, random_state=0).fit(world.rows)
    assert adjusted_rand_score(peer.labels_, model.labels_) == 1
    distances = ((world.rows - world.rows[peer.cluster_centers_indices_][peer.labels_]) ** 2).sum()
    assert model.objective_ >= -4.0 - distances - 1e-6


def test_the_lower_the_preference_the_fewer_exemplars(make_world):
    rows = make_world(n=30, noise=0.9).rows
    numbers = [
        fit(rows, preference=-value, max_speakers=30).n_speakers_ for value in (0, 0.3, 1, 5, 100)
    ]
    assert numbers == sorted(numbers, reverse=True)
    assert numbers[0] == 30
    assert numbers[-1] == 1


def test_distances_may_be_unsquared_and_sets_cost_something(make_world):
    rows = make_world(n=40, noise=0.9, share=0.6).rows
    for squared in (True, False):
        for penalty in (0.0, 0.3):
            model = fit(rows, squared=squared, set_penalty=penalty, preference=-1.0)
            expected = objective(model, rows, unit_mean, -1.0, squared, penalty)
            assert np.isclose(model.objective_, expected)
    assert (fit(rows, n_speakers=3, set_penalty=5.0).sets_.sizes == 1).all()


def test_copies_of_rows_weigh_as_much_as_they_are(make_world):
    world = make_world(n=25, noise=0.8)
    rows = np.repeat(world.rows, 3, axis=0)
    model = fit(rows, preference=-1.0)
    check_feasible(model)
    assert np.isclose(model.objective_, objective(model, rows, unit_mean, -1.0))
    for start in range(0, 75, 3):
        assert len(set(model.labels_[start : start + 3])) == 1
    all_of_them = fit(rows[:12], n_speakers=9, max_speakers=9)
    assert all_of_them.n_speakers_ == 9
    check_feasible(all_of_them)


def test_the_rest_of_a_sample_goes_to_the_nearest_composition_in_use(make_world):
    world = make_world(n=400, noise=0.5)
    model = fit(world.rows, sample_size=50)
    assert model.sampled_ == 50
    check_feasible(model)
    assert np.allclose(model.centroids_, world.rows[model.exemplars_])
    used = model.sets_.distinct()[0]
    centers = compose_sets(unit_mean, model.centroids_, used.membership)
    nearest = ((world.rows[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == model.labels_).mean() > 0.98  # exemplars stay with themselves
    assert adjusted_rand_score(world.truth.labels, model.labels_) > 0.95


@pytest.mark.parametrize(("size", "most"), [(2, 150), (4, 44), (5, 22)])
def test_of_fewer_rows_larger_sets_are_composed(make_world, size, most):
    model = fit(make_world(n=160, k=3).rows, max_set_size=size, n_speakers=3)
    assert model.sampled_ == most
    check_feasible(model)


def test_one_row_is_its_own_exemplar():
    model = fit(np.array([[0.6, 0.8]]), preference=-0.25)
    assert model.exemplars_.tolist() == [0]
    assert (model.objective_, model.n_iter_, model.converged_) == (-0.25, 0, True)


def test_an_inferred_preference_is_one_for_which_the_number_is_best(make_world):
    for seed in range(3):
        rows = make_world(n=40, noise=0.8, seed=seed).rows
        model = fit(rows)
        k, preference = model.n_speakers_, model.preference_
        assert np.isclose(model.objective_, objective(model, rows, unit_mean, preference))
        for other in (k - 1, k + 1):
            worse = fit(rows, n_speakers=other, preference=preference)
            assert worse.objective_ < model.objective_


def test_choices_that_contradict_one_another_are_repaired_and_reported(make_world, monkeypatch):
    rows = make_world(n=30, noise=0.9).rows
    sound = fit(rows, preference=-1.0)
    assert not sound.repaired_

    def nobody(messages, max_iter, window):
        return cap.Decision(np.zeros(0, dtype=np.int64), False, 7, True)

    monkeypatch.setattr(cap, "pass_messages", nobody)
    mended = fit(rows, preference=-1.0)
    assert mended.repaired_
    check_feasible(mended)
