"""Greedy reassignment against brute force (appendix C) and cases worked out by hand."""

from __future__ import annotations

from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans

from diarize.clustering import make
from diarize.clustering.base import SpeakerBounds
from diarize.clustering.composition import compose_sets, most_speakers
from diarize.clustering.gcr import GCR
from diarize.clustering.geometry import cluster_means
from diarize.clustering.merging import coarser, cut, ward_tree
from diarize.clustering.reassignment import (
    MOST_SETS,
    Reassigner,
    composition_distances,
    elimination,
    nearest_first,
    stand_for,
)
from diarize.sets import SpeakerSets, enumerate_sets

from .conftest import unit, unit_mean


def brute_force(means, counts, g, d, n_moved):
    """Every choice of compositional clusters and every one-to-one map to compositions."""
    k = len(means)
    best = (np.inf, None)
    for moved in combinations(range(k), n_moved):
        rest = [j for j in range(k) if j not in moved]
        sets = enumerate_sets(len(rest), d)
        sets = sets[sets.sum(axis=1) > 1]
        centers = compose_sets(g, means[rest], sets)
        for targets in permutations(range(len(sets)), n_moved):
            cost = sum(
                counts[j] * ((means[j] - centers[t]) ** 2).sum()
                for j, t in zip(moved, targets, strict=True)
            )
            if cost < best[0]:
                chosen = {
                    j: {rest[i] for i in np.flatnonzero(sets[t])}
                    for j, t in zip(moved, targets, strict=True)
                }
                best = (cost, chosen)
    return best[1]


@pytest.mark.parametrize("order", ["nearest", "elimination"])
@pytest.mark.parametrize(("k", "d", "seed"), [(2, 2, 0), (3, 2, 1), (3, 2, 2), (3, 3, 3)])
def test_greedy_is_exact_where_mixtures_are_clear(make_world, k, d, seed, order):
    world = make_world(n=60, k=k, share=0.6, noise=0.1, seed=seed)
    n_base = len(world.truth.distinct()[0])
    model = GCR(
        n_speakers=k, n_base_clusters=n_base, max_set_size=d, order=order, compose=unit_mean
    )
    model.fit(world.rows)
    labels = cut(ward_tree(world.rows), n_base)
    means = cluster_means(world.rows, labels, n_base)
    expected = brute_force(means, np.bincount(labels), unit_mean, d, n_base - k)
    singles = [j for j in range(n_base) if j not in expected]
    sets = [expected.get(j, {j}) for j in labels]
    assert model.n_speakers_ == k
    assert sorted(singles) == sorted({j for s in sets for j in s})
    inside = [[a >= b for b in sets] for a in sets]
    assert model.sets_.subsumption().tolist() == inside
    assert np.array_equal(model.sets_.subsumption(), world.truth.subsumption())


def algorithm_4(means, g, d, threshold):
    """The paper's loop, cluster by cluster; what each cluster stands for in the end."""
    k = len(means)
    compositions = [frozenset(c) for size in range(2, d + 1) for c in combinations(range(k), size)]
    sets = np.array([[j in c for j in range(k)] for c in compositions])
    centers = dict(zip(compositions, compose_sets(g, means, sets), strict=True))
    nearest = {}
    for j in range(k):
        others = [c for c in compositions if j not in c]
        nearest[j] = min(others, key=lambda c, j=j: np.linalg.norm(means[j] - centers[c]))
    distance = {j: np.linalg.norm(means[j] - centers[nearest[j]]) for j in range(k)}
    singletons, composed = set(), set()  # S, T
    stands_for = {j: {j} for j in range(k)}
    for j in sorted(range(k), key=distance.__getitem__):
        if distance[j] >= threshold or j in singletons or nearest[j] & composed:
            break
        stands_for[j] = set(nearest[j])
        singletons |= nearest[j]
        composed.add(j)
    return stands_for


@pytest.mark.parametrize("seed", range(12))
def test_each_step_is_that_of_algorithm_4(seed):
    generator = np.random.default_rng(seed)
    d = 2 + seed % 2
    rows = np.repeat(unit(generator.normal(size=(8, 3))), 3, axis=0)  # base clusters of equal rows
    threshold = float(generator.choice([0.2, 0.4, 0.8]))
    model = GCR(
        n_base_clusters=8, threshold=threshold, max_set_size=d, order="nearest", compose=unit_mean
    )
    model.fit(rows)
    expected = algorithm_4(rows[::3], unit_mean, d, threshold)
    truth = SpeakerSets.from_lists([sorted(expected[j]) for j in np.repeat(range(8), 3)])
    assert model.sets_ == truth.by_first_appearance()


def test_the_threshold_is_a_distance(make_world):
    world = make_world(n=60, k=2, share=0.4, noise=0.05)
    # Under max the composition of orthogonal parts is well off their normalised sum.
    options = {"n_base_clusters": 3, "compose": np.maximum}
    gap = GCR(**options, n_speakers=2).fit(world.rows)
    means = cluster_means(world.rows, cut(ward_tree(world.rows), 3), 3)
    distance = composition_distances(np.maximum, means, 2, 0.0)[1].min()
    assert gap.n_speakers_ == 2
    assert GCR(**options, threshold=distance * 1.01).fit(world.rows).n_speakers_ == 2
    assert GCR(**options, threshold=distance * 0.99).fit(world.rows).n_speakers_ == 3
    assert GCR(**options, threshold=0.0).fit(world.rows).threshold_ == 0.0


def test_what_a_bound_forces_beyond_the_threshold_counts():
    rows = unit(np.array([[1.0, 0, 0]] * 3 + [[0, 1.0, 0]] * 3 + [[1.0, 1.0, 0.4]] * 2))
    labels = np.repeat([0, 1, 2], [3, 3, 2])
    gap = np.linalg.norm(rows[-1] - unit_mean(rows[0], rows[3]))
    for threshold, forced in ((0.1, 2 * (gap**2 - 0.1**2)), (gap * 1.01, 0.0)):
        model = Reassigner(compose=unit_mean, max_set_size=2, threshold=threshold)
        kept = model.reassign(rows, labels, SpeakerBounds(2, 2))
        assert kept is not None and kept.n_speakers == 2
        assert kept.ssd == pytest.approx(forced)
        assert kept.sets.tolist() == [
            [True, False, False],
            [False, True, False],
            [True, True, False],
        ]
    assert model.reassign(rows, labels, SpeakerBounds(1, 1)) is None
    assert model.reassign(rows, labels, SpeakerBounds(4, 9)) is None


def test_only_what_is_nearer_than_the_threshold_is_reassigned():
    rows = unit(np.array([[1.0, 0, 0], [0, 1.0, 0], [1.0, 1.0, 0.4]]))
    levels = composition_distances(unit_mean, rows, 2, 0.0)[1]
    model = GCR(compose=unit_mean, n_base_clusters=3, threshold=float(levels.min()))
    assert model.fit(rows).n_speakers_ == 3


def test_a_base_without_a_seed_is_given_one(make_world):
    seeds = []

    class Recording(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            seeds.append(self.random_state)
            return super().fit(X, y, sample_weight)

    rows = make_world().rows
    for base_seed, seed in ((None, 1), (None, 1), (None, 2), (5, 1)):
        base = Recording(n_clusters=5, n_init=1, random_state=base_seed)
        GCR(base=base, compose=unit_mean, random_state=seed).fit(rows)
    assert isinstance(seeds[0], int)
    assert seeds[0] == seeds[1] != seeds[2]
    assert seeds[3] == 5


def test_everything_is_inferred(make_world):
    for k in (1, 2, 4):
        world = make_world(n=400, k=k, share=0.6 if k > 1 else 0.0, seed=k)
        model = GCR(compose=unit_mean).fit(world.rows)
        assert model.n_speakers_ == k
        assert np.array_equal(model.sets_.subsumption(), world.truth.subsumption())
        assert np.allclose(np.linalg.norm(model.centroids_, axis=1), 1)


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 20])
def test_the_number_of_speakers_is_kept_whatever_the_rows(k):
    rows = unit(np.random.default_rng(k).normal(size=(20, 3)))
    assert GCR(n_speakers=k, compose=unit_mean).fit(rows).n_speakers_ == k
    assert GCR(min_speakers=k, compose=unit_mean).fit(rows).n_speakers_ >= k
    assert GCR(max_speakers=k, compose=unit_mean).fit(rows).n_speakers_ <= k
    assert GCR(n_speakers=k, n_base_clusters=20, compose=unit_mean).fit(rows).n_speakers_ == k


def test_any_base_with_labels(make_world):
    world = make_world(n=120, k=3, share=0.5, noise=0.1)
    n_base = len(world.truth.distinct()[0])
    base = KMeans(n_init=5)
    model = GCR(base=base, n_base_clusters=n_base, compose=unit_mean, random_state=0)
    assert np.array_equal(model.fit(world.rows).sets_.subsumption(), world.truth.subsumption())
    assert base.n_clusters == 8  # the caller's own is not touched
    assert model.n_base_clusters_ == n_base
    density = GCR(base=DBSCAN(eps=0.25, min_samples=3), compose=unit_mean).fit(world.rows)
    assert np.array_equal(density.sets_.subsumption(), world.truth.subsumption())


def test_rows_that_the_base_left_out_go_to_the_nearest_cluster(make_world):
    world = make_world(n=60, k=3, share=0.0, noise=0.1)
    rows = np.concatenate([world.rows, unit(world.centroids[:1] + 0.5 * world.centroids[1:2])])
    model = GCR(base=DBSCAN(eps=0.2, min_samples=3), compose=unit_mean).fit(rows)
    assert model.n_speakers_ == 3
    assert model.labels_[-1] == model.labels_[0]
    nothing = GCR(base=DBSCAN(eps=1e-9), compose=unit_mean).fit(rows)
    assert nothing.n_speakers_ == 1


def test_a_base_with_too_few_clusters_is_named(make_world):
    rows = make_world().rows
    with pytest.raises(ValueError, match="2 clusters, fewer than the 3 speakers"):
        GCR(n_speakers=3, n_base_clusters=2, compose=unit_mean).fit(rows)
    with pytest.raises(ValueError, match="DBSCAN takes no n_clusters"):
        GCR(base=DBSCAN(), n_base_clusters=2, compose=unit_mean).fit(rows)


def test_merging_steps_are_those_of_ward():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    tree = ward_tree(rows)
    for labels in coarser(rows, cut(tree, 12)):
        k = int(labels.max()) + 1
        both = set(zip(labels.tolist(), cut(tree, k).tolist(), strict=True))
        assert len(both) == k
    assert labels.max() == 0


def test_the_order_and_rotation_of_rows_do_not_matter(make_world):
    world = make_world(n=70, k=3, noise=0.5)
    generator = np.random.default_rng(0)
    order = generator.permutation(70)
    rotation = np.linalg.qr(generator.normal(size=(16, 16)))[0]

    def rotated(a, b):
        return unit_mean(a @ rotation.T, b @ rotation.T) @ rotation

    plain = GCR(compose=unit_mean).fit(world.rows).sets_
    mixed = GCR(compose=rotated).fit(world.rows[order] @ rotation).sets_
    assert np.array_equal(plain[order].by_first_appearance().membership, mixed.membership)


@pytest.mark.parametrize("order", [nearest_first, elimination])
@pytest.mark.parametrize("k", [1, 2])
def test_two_clusters_compose_nothing(order, k):
    sets, distances = composition_distances(unit_mean, np.eye(k, 4), 2, 0.0)
    moved, levels = order(sets, distances)
    assert len(moved) == len(levels) == 0


def test_the_penalty_is_added_to_the_square():
    means = unit(np.random.default_rng(0).normal(size=(6, 4)))
    plain = composition_distances(unit_mean, means, 2, 0.0)[1]
    penalised = composition_distances(unit_mean, means, 2, 0.5)[1]
    assert np.allclose(penalised**2, plain**2 + 0.5)


@pytest.mark.parametrize("seed", range(8))
def test_the_first_elimination_is_the_best_one(seed):
    means = unit(np.random.default_rng(seed).normal(size=(6, 3)))
    sets, distances = composition_distances(unit_mean, means, 2, 0.0)
    moved, levels = elimination(sets, distances)
    assert moved[0] == distances.min(axis=1).argmin()
    # The second is the best that can follow the first.
    follow = {
        j: stand_for(np.array([moved[0], j]), sets, distances)[1].max()
        for j in range(6)
        if j != moved[0]
    }
    assert levels[1] == pytest.approx(min(follow.values()))


def test_elimination_finds_the_speakers_among_all_their_mixtures():
    """Algorithm 4 stops at the first contradiction, with composition of speakers left over."""
    rng = np.random.default_rng(5)
    speakers = np.eye(4, 8)
    pairs = np.array([unit_mean(speakers[a], speakers[b]) for a, b in combinations(range(4), 2)])
    means = unit(np.concatenate([speakers, pairs]) + 0.02 * rng.normal(size=(10, 8)))
    sets, distances = composition_distances(unit_mean, means, 2, 0.0)
    moved, levels = elimination(sets, distances)
    assert set(moved[:6]) == set(range(4, 10))
    assert levels[5] < 0.2 < levels[6]


@pytest.mark.parametrize("name", ["ca", "forest", "gcr"])
def test_more_speakers_than_usual_are_found_where_so_many_may_be(name):
    generator = np.random.default_rng(0)
    rows = np.repeat(30 * generator.normal(size=(34, 8)), 6, axis=0)
    rows += 0.1 * generator.normal(size=rows.shape)
    model = make(name, max_set_size=1, max_speakers=50, random_state=0)
    assert model.fit(rows).n_speakers_ == 34


def test_of_more_clusters_than_can_be_composed_the_nearest_are_merged() -> None:
    rows = np.random.default_rng(0).normal(size=(200, 8))
    model = GCR(max_set_size=4, n_base_clusters=60, n_speakers=5, compose=unit_mean).fit(rows)
    assert model.n_base_clusters_ == most_speakers(60, 4, MOST_SETS) < 60


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"base": "ward"}, "base must be an estimator"),
        ({"random_state": 1.5}, "random_state must be a seed or a generator, got 1.5"),
    ],
)
def test_options_of_another_kind(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        GCR(max_set_size=1, **options).fit(np.eye(3))
