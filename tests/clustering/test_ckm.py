"""Compositional k-means against autograd, exhaustive starts and its own promises."""

from __future__ import annotations

import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from diarize.clustering import alternation, ckm
from diarize.clustering.alternation import ASTRAY, OUTSIDE, Alternation, CentroidPenalty
from diarize.clustering.ckm import CKM
from diarize.clustering.composition import compose_sets
from diarize.clustering.gradient import SetComposer
from diarize.clustering.seeding import random_rows, spread_rows
from diarize.scatter import Axes, Scatter
from diarize.sets import SpeakerSets, enumerate_sets

from .conftest import unit, unit_mean


def mean(a, b):
    return (a + b) / 2


def objective(model, rows, g, set_penalty=0.0):
    """The sum (3), row by row, from what the estimator answers."""
    sets, ids = model.sets_.distinct()
    centers = compose_sets(g, model.centroids_, sets.membership)
    return ((rows - centers[ids]) ** 2).sum() + set_penalty * (model.sets_.sizes - 1).sum()


def start(rows, centroids, g, d=2, set_penalty=0.0):
    sets = enumerate_sets(centroids.shape[1], d)
    composer = SetComposer(g, sets, rows.shape[1])
    return Alternation(rows, composer, set_penalty * (sets.sum(axis=1) - 1.0), centroids)


@pytest.mark.parametrize("g", [unit_mean, np.maximum], ids=["torch", "numpy"])
@pytest.mark.parametrize("d", [2, 3])
def test_it_finds_who_is_in_every_row(make_world, g, d):
    world = make_world(n=120, k=4, share=0.4)
    rows = world.rows if g is unit_mean else np.abs(world.rows) + world.rows
    if g is np.maximum:
        parts = np.random.default_rng(0).random((4, 16)) * 3
        lists = [s for s in world.truth.to_lists()]
        rows = np.array([parts[s].max(axis=0) for s in lists])
        rows = rows + 0.05 * np.random.default_rng(1).normal(size=rows.shape)
    model = CKM(n_speakers=4, max_set_size=d, compose=g, n_restarts=30, random_state=0).fit(rows)
    assert adjusted_rand_score(world.truth.labels, model.labels_) == 1
    assert np.array_equal(model.sets_.subsumption(), world.truth.subsumption())
    assert np.isclose(model.ssd_, objective(model, rows, g))


def axes_along(first):
    """Axes of a space in which the mean of all speakers lies along one unit vector."""
    p = len(first)
    return Axes(np.asarray(first), np.eye(2, p, 3), np.eye(2), np.eye(2))


def test_centroids_where_no_voices_lie_cost_the_more_the_farther_they_are():
    axes = axes_along(np.eye(8)[0])
    voices = unit(np.eye(8)[0] + np.eye(8)[1:4])
    astray = voices.copy()
    astray[2] = -np.eye(8)[0]
    farther = astray.copy()
    farther[0] = -np.eye(8)[0]
    cost = CentroidPenalty(axes=axes).cost(np.stack([voices, astray, farther]))
    np.testing.assert_allclose(cost, OUTSIDE * (ASTRAY + 1) * np.array([0, 1, 2]), atol=1e-12)
    assert not CentroidPenalty().cost(np.stack([voices, astray])).any()
    both = CentroidPenalty(apart=0.4, axes=axes).cost(astray[None])
    assert both == pytest.approx(OUTSIDE * (ASTRAY + 1 + 0.1))  # two voices have a cosine of 0.5


def test_first_centroids_are_voices_where_these_are_told_from_mixtures(monkeypatch):
    """Mixtures lie nearer to each other than voices do, and away from where voices lie."""
    rng = np.random.default_rng(0)
    voices = unit(np.eye(16)[0] + np.eye(16)[1:4])
    pairs = unit(np.eye(16)[[4, 5, 6]] + 0.2 * np.eye(16)[0])
    truth = np.repeat(np.arange(6), 20)
    rows = unit(np.concatenate([voices, pairs])[truth] + 0.02 * rng.normal(size=(120, 16)))
    known = Scatter(0.01, 12.0, axes=axes_along(0.8 * np.eye(16)[0]))
    begun = []

    def watched(pool, *others):
        begun.append(len(pool))
        return random_rows(pool, *others)

    monkeypatch.setattr(ckm, "random_rows", watched)
    told = {
        "n_speakers": 3,
        "max_set_size": 2,
        "compose": unit_mean,
        "random_state": 0,
        "n_restarts": 6,
    }
    model = CKM(scatter=known, **told).fit(rows)
    assert begun == [60]
    assert (known.axes.along_mean(model.centroids_) >= ASTRAY).all()
    CKM(**told).fit(rows)
    CKM(scatter=known, **told).fit(rows[60:])  # no voice is there
    CKM(scatter=known, **told).fit(np.concatenate([rows[:3], rows[60:]]))  # too few
    CKM(scatter=replace(known, axes=axes_along(0.3 * np.eye(16)[0])), **told).fit(rows)
    assert begun == [60, 120, 60, 63, 120]


def test_who_says_little_is_found_before_who_talks_for_long_is_found_twice():
    """Where two are asked for: by the objective alone the long one's two moods are two."""
    rng = np.random.default_rng(0)
    moods = np.zeros((3, 12))
    moods[0, :2] = moods[1, :2] = 1.0
    moods[0, 2], moods[1, 2] = 0.3, -0.3  # cosine 0.91
    moods[2, 5] = 1.0
    owner = np.repeat([0, 1, 2], [150, 150, 5])
    rows = unit(moods[owner] + 0.05 * rng.standard_normal((305, 12)))
    told = {"n_speakers": 2, "max_set_size": 1, "n_restarts": 10, "random_state": 0}
    alone = CKM(scatter=Scatter(0.3, 12.0), **told).fit(rows)
    assert np.array_equal(alone.labels_[:300], owner[:300])
    both = CKM(scatter=Scatter(0.3, 12.0, alike=0.7), **told).fit(rows)
    assert np.array_equal(both.labels_, owner == 2)
    assert both.ssd_ > alone.ssd_


@pytest.mark.parametrize(("k", "share"), [(1, 0.0), (3, 0.3), (5, 0.5)])
def test_the_number_of_speakers_is_inferred(make_world, k, share):
    world = make_world(n=100 + 10 * k, k=k, share=share, seed=k)
    model = CKM(compose=unit_mean, n_restarts=8, max_speakers=7, random_state=0).fit(world.rows)
    assert np.array_equal(model.sets_.subsumption(), world.truth.subsumption())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("penalty", [0.0, 0.05])
def test_the_objective_never_rises(make_world, seed, penalty):
    world = make_world(n=80, k=4, noise=1.5, share=0.6, seed=seed)
    model = CKM(
        n_speakers=4, compose=unit_mean, set_penalty=penalty, n_restarts=10, random_state=seed
    ).fit(world.rows)
    history = model.ssd_history_
    assert len(history) == 2 * model.n_iter_ > 2
    assert np.min(history[:-1] - history[1:]) >= -1e-12 * history[0]
    assert np.isclose(history[-1], model.ssd_)
    assert np.isclose(model.ssd_, objective(model, world.rows, unit_mean, penalty))
    assert model.converged_


@pytest.mark.parametrize("seed", [34, 36, 37, 38])
def test_the_history_ends_at_the_objective_though_the_best_settled_before_others(seed):
    generator = np.random.default_rng(seed)
    centroids, pairs = generator.normal(size=(4, 8)), generator.integers(4, size=(80, 2))
    rows = centroids[pairs].mean(axis=1) + 0.8 * generator.normal(size=(80, 8))
    model = CKM(n_speakers=4, compose=unit_mean, n_restarts=10, tol=1e-2, random_state=seed)
    history = model.fit(rows).ssd_history_
    assert history[-1] == model.ssd_
    assert len(history) == 2 * model.n_iter_
    assert np.isclose(model.ssd_, objective(model, rows, unit_mean, 0.0), rtol=1e-12)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.sampled_from([1, 2, 3]))
def test_no_restart_ever_rises_whatever_the_rows(seed, narrow, d):
    generator = np.random.default_rng(seed)
    rows = generator.normal(size=(25, 3)) * 10.0 ** generator.integers(-3, 4)
    if generator.random() < 0.5:
        rows = unit(rows)
    if narrow:
        rows = rows.astype(np.float32)
    run = start(rows, generator.normal(size=(6, 3, 3)), unit_mean, d, float(generator.random() / 9))
    for _ in range(4):
        run.alternate(0.0, 3)
    rounding = 1e-9 if not narrow else 1e-6
    for restart in range(6):
        history = run.values(restart)
        assert len(history) == 2 * run.n_iter[restart]
        assert (history[:-1] - history[1:]).min() >= -rounding * history.max()


@pytest.mark.parametrize("d", [1, 2, 3])
def test_sufficient_statistics_give_the_gradient_of_the_full_objective(d):
    generator = np.random.default_rng(d)
    rows = generator.normal(size=(40, 5))
    centroids = generator.normal(size=(2, 3, 5))
    run = start(rows, centroids, unit_mean, d)
    run.nearest.update(run.centers, run.offsets)
    every = np.arange(2)
    _, pullback = SetComposer(unit_mean, run.sets, 5).with_pullback(centroids)
    gradient = pullback(run.nearest.slope(run.centers, every))

    leaf = torch.tensor(centroids, requires_grad=True)
    x = torch.tensor(rows)
    total = torch.zeros((), dtype=torch.float64)
    for r in range(2):
        for i, c in enumerate(run.nearest.labels[r]):
            members = [leaf[r, j] for j in np.flatnonzero(run.sets[c])]
            if len(members) == 3:
                orders = [(0, 1, 2), (1, 0, 2), (2, 0, 1)]
                chains = [
                    unit_mean(members[a], unit_mean(members[b], members[c_])) for a, b, c_ in orders
                ]
                center = sum(chains) / 3
                center = center / center.norm()
            else:
                center = members[0] if len(members) == 1 else unit_mean(*members)
            total = total + ((x[i] - center) ** 2).sum()
    total.backward()
    values = run.nearest.objective(run.centers, run.offsets, every)
    assert np.isclose(values.sum(), total.item())
    assert np.allclose(gradient, leaf.grad.numpy(), atol=1e-9)


def test_no_exhaustive_start_is_better(make_world):
    world = make_world(n=12, k=3, share=0.5, noise=0.8, seed=3)
    starts = world.rows[list(map(list, combinations(range(12), 3)))]  # all 220 of them
    run = start(world.rows, starts, unit_mean)
    for _ in range(60):
        run.alternate(1e-9, 3)
    model = CKM(n_speakers=3, compose=unit_mean, random_state=0, tol=1e-9).fit(world.rows)
    assert model.ssd_ <= run.objective().min() * (1 + 1e-6)


def test_the_best_restart_is_followed_to_the_end(make_world):
    world = make_world(n=90, k=3, share=0.6, noise=1.2)
    options = {"n_speakers": 3, "compose": unit_mean, "n_restarts": 10, "random_state": 0}
    model = CKM(**options).fit(world.rows)
    assert model.converged_
    # From its answer on, ever smaller steps find nothing more.
    run = start(world.rows, model.centroids_[None], unit_mean)
    while not run.converged.all() and run.n_iter[0] < 100:
        run.alternate(1e-13, 3)
    assert model.ssd_ <= run.objective()[0] * (1 + 1e-7)


@pytest.mark.parametrize(("k", "d"), [(10, 2), (6, 3), (5, 4)])
def test_many_speakers_and_large_sets(k, d):
    generator = np.random.default_rng(k)
    parts = np.linalg.qr(generator.normal(size=(24, 24)))[0][:k]
    sets = enumerate_sets(k, d)
    rows = compose_sets(unit_mean, parts, np.repeat(sets, 3, axis=0))
    rows = unit(rows + 0.05 * generator.normal(size=rows.shape) / 24**0.5)
    model = CKM(n_speakers=k, max_set_size=d, compose=unit_mean, n_restarts=30, random_state=0).fit(
        rows
    )
    assert model.n_speakers_ == k
    truth = SpeakerSets(np.repeat(sets, 3, axis=0))
    assert np.array_equal(model.sets_.subsumption(), truth.subsumption())


def test_blocks_of_restarts_change_nothing_but_memory(make_world, monkeypatch):
    world = make_world()
    options = {"n_speakers": 3, "compose": unit_mean, "n_restarts": 20, "random_state": 0}
    whole = CKM(**options).fit(world.rows)
    monkeypatch.setattr(ckm, "RUN_VALUES", 7 * 6 * 16)
    monkeypatch.setattr(alternation, "DESCENT_VALUES", 100)
    parts = CKM(**options).fit(world.rows)
    assert parts.sets_ == whole.sets_
    assert np.isclose(parts.ssd_, whole.ssd_)


def test_one_speaker_per_row_is_plain_k_means():
    generator = np.random.default_rng(0)
    rows = np.concatenate([generator.normal(size=(30, 2)) + c for c in ((0, 0), (9, 0), (0, 9))])
    model = CKM(n_speakers=3, max_set_size=1, random_state=0).fit(rows)
    means = rows.reshape(3, 30, 2).mean(axis=1)
    assert np.allclose(model.centroids_, means)
    assert np.isclose(model.ssd_, ((rows.reshape(3, 30, 2) - means[:, None]) ** 2).sum())
    assert model.sets_.to_lists() == [[0]] * 30 + [[1]] * 30 + [[2]] * 30


def test_centroids_stay_on_the_sphere_if_the_rows_lie_there(make_world):
    rows = make_world(noise=0.6).rows
    lengths = [
        np.linalg.norm(
            CKM(n_speakers=3, compose=unit_mean, n_restarts=10, random_state=0)
            .fit(scale * rows)
            .centroids_,
            axis=1,
        )
        for scale in (1.0, 1.5)
    ]
    assert np.allclose(lengths[0], 1)
    assert (lengths[1] < 1.5).any()


@pytest.mark.parametrize("g", [mean, np.maximum])
def test_a_g_that_leaves_the_sphere_makes_no_pairs_of_single_voices(g):
    rng = np.random.default_rng(0)
    voices = unit(rng.normal(size=(3, 64)))[np.arange(200) % 3]
    rows = unit(0.8 * voices + 0.6 * unit(rng.normal(size=(200, 64))))
    model = CKM(compose=g, n_restarts=10, random_state=0).fit(rows)
    assert model.n_speakers_ == 3
    assert (model.sets_.sizes == 1).all()


def test_a_set_penalty_asks_for_nearer_sets(make_world):
    world = make_world(n=120, k=3, share=0.4, noise=0.9)
    overlap = [
        (
            CKM(n_speakers=3, compose=unit_mean, set_penalty=penalty, random_state=0)
            .fit(world.rows)
            .sets_.sizes
            > 1
        ).mean()
        for penalty in (0.0, 0.15, 5.0)
    ]
    assert overlap[0] >= overlap[1] > overlap[2] == 0


def test_speakers_without_rows_are_dropped_unless_their_number_is_given():
    rows = np.repeat(np.eye(3)[:2], 4, axis=0)
    exact = CKM(n_speakers=4, max_set_size=1, random_state=0).fit(rows)
    assert exact.n_speakers_ == 4
    assert exact.ssd_ == pytest.approx(0)
    free = CKM(max_speakers=4, max_set_size=1, random_state=0).fit(rows)
    assert free.n_speakers_ == 2
    assert free.centroids_.shape == (2, 3)
    assert CKM(min_speakers=3, max_set_size=1, random_state=0).fit(rows).n_speakers_ == 3


@pytest.mark.parametrize("k", [1, 2, 5, 6])
def test_as_many_speakers_as_asked_for_among_equal_rows(k):
    rows = np.ones((6, 2)) / 2**0.5
    model = CKM(n_speakers=k, compose=unit_mean, n_restarts=5, random_state=0).fit(rows)
    assert model.n_speakers_ == k


def test_a_float32_g_and_float32_rows(make_world):
    world = make_world(n=150, k=4, p=32, dtype=np.float32)
    net = torch.nn.Bilinear(32, 32, 32, bias=False)
    with torch.no_grad():
        net.weight.zero_()

    class Mean(torch.nn.Module):
        def forward(self, a, b):
            return torch.nn.functional.normalize(a + b + net(a, b), dim=-1)

    model = CKM(n_speakers=4, compose=Mean(), n_restarts=20, random_state=0).fit(world.rows)
    assert np.array_equal(model.sets_.subsumption(), world.truth.subsumption())
    assert np.min(model.ssd_history_[:-1] - model.ssd_history_[1:]) >= -1e-6 * model.ssd_


def test_a_rotation_turns_everything_along(make_world):
    world = make_world(n=80, k=3, noise=0.6)
    rotation = np.linalg.qr(np.random.default_rng(9).normal(size=(16, 16)))[0]
    turned = torch.tensor(rotation)

    def rotated(a, b):
        return unit_mean(a @ turned.T, b @ turned.T) @ turned

    plain = CKM(n_speakers=3, compose=unit_mean, random_state=0).fit(world.rows)
    moved = CKM(n_speakers=3, compose=rotated, random_state=0).fit(world.rows @ rotation)
    assert np.isclose(plain.ssd_, moved.ssd_)
    assert plain.sets_ == moved.sets_


def test_the_order_of_the_rows_does_not_change_the_best_objective(make_world):
    world = make_world(n=80, k=3, noise=0.6)
    order = np.random.default_rng(0).permutation(80)
    plain = CKM(n_speakers=3, compose=unit_mean, random_state=0).fit(world.rows)
    mixed = CKM(n_speakers=3, compose=unit_mean, random_state=1).fit(world.rows[order])
    assert np.isclose(plain.ssd_, mixed.ssd_)
    assert np.array_equal(
        plain.sets_.subsumption()[np.ix_(order, order)], mixed.sets_.subsumption()
    )


@pytest.mark.parametrize(("k", "size", "ways"), [(3, 3, None), (7, 4, 553)])
def test_many_sets_are_told_of(k, size, ways):
    rows = unit(np.random.default_rng(0).normal(size=(12, 3)))
    model = CKM(n_speakers=k, max_set_size=size, compose=unit_mean, n_restarts=2, random_state=0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(rows)
    told = [str(one.message) for one in caught if "minutes" in str(one.message)]
    expected = f"CKM composes sets of up to {size} of {k} speakers in {ways} ways"
    assert [text.split(", ")[0] for text in told] == ([] if ways is None else [expected])


def test_a_composition_that_is_undefined_attracts_nobody():
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    with np.errstate(all="ignore"):
        model = CKM(n_speakers=2, compose=unit_mean, n_restarts=4, random_state=0).fit(rows)
    assert model.sets_ == SpeakerSets.from_labels([0, 1, 0, 1])


def composer(k, p, d=2):
    return SetComposer(unit_mean, enumerate_sets(k, d), p)


def test_random_centroids_are_different_rows():
    rows = np.arange(10.0)[:, None]
    chosen = random_rows(rows, 4, 50, np.random.default_rng(0))
    assert chosen.shape == (50, 4, 1)
    assert all(len(np.unique(restart)) == 4 for restart in chosen)
    assert np.isin(chosen, rows).all()


def test_spread_centroids_pass_over_what_they_compose():
    corners = np.eye(3)
    rows = np.concatenate([corners, unit(corners + np.roll(corners, 1, axis=0))])
    chosen = spread_rows(rows, composer(3, 3), np.zeros(6), 200, np.random.default_rng(0))
    assert all(len(np.unique(restart, axis=0)) == 3 for restart in chosen)
    for restart in chosen:
        first, second, third = restart
        mixture = unit_mean(first[None], second[None])[0]
        assert not np.allclose(third, mixture)


def test_known_centroids_stay_first():
    rows = unit(np.random.default_rng(0).normal(size=(20, 4)))
    first = rows[[3, 7]]
    chosen = spread_rows(rows, composer(3, 4), np.zeros(6), 5, np.random.default_rng(1), first)
    assert np.array_equal(chosen[:, :2], np.repeat(first[None], 5, axis=0))
    same = spread_rows(rows, composer(2, 4), np.zeros(3), 1, np.random.default_rng(1), first)
    assert np.array_equal(same, first[None])


@pytest.mark.parametrize("seed", range(3))
def test_opposite_rows_leave_the_speakers_on_the_sphere(seed: int) -> None:
    rows = unit(np.random.default_rng(seed).normal(size=(60, 5)))
    rows = np.concatenate([rows, -rows[:5]])  # what two of them are composed to has no direction
    model = CKM(compose=unit_mean, n_speakers=3, random_state=seed).fit(rows)
    np.testing.assert_allclose(np.linalg.norm(model.centroids_, axis=1), 1.0)
