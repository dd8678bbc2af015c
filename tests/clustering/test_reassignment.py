from itertools import combinations

import numpy as np
import pytest

from diarize.clustering.composition import compose_sets, enumerate_sets
from diarize.clustering.reassignment import (
    composition_distances,
    elimination,
    nearest_first,
    stand_for,
)

from .conftest import unit, unit_mean


def test_the_first_contradiction_ends_the_loop():
    sets = np.zeros((3, 6), dtype=bool)
    sets[0, [0, 1]] = True
    sets[1, [0, 4]] = True
    sets[2, [0, 2]] = True
    distances = np.full((6, 3), 9.0)
    distances[2, 0], distances[3, 1] = 0.1, 0.2
    distances[4, 0] = 0.3  # a part of 3 by then
    distances[5, 0] = 0.4  # would be fine, but comes after
    assert nearest_first(sets, distances)[0].tolist() == [2, 3]
    assert nearest_first(sets, distances)[1].tolist() == [0.1, 0.2]
    distances[3] = [9, 9, 0.2]  # 3 would be composed of 2, which is one itself
    assert nearest_first(sets, distances)[0].tolist() == [2]
    assert nearest_first(sets, np.full((6, 3), np.inf))[0].tolist() == []


@pytest.mark.parametrize("d", [2, 3])
def test_a_composition_does_not_hold_the_cluster_itself(d):
    means = unit(np.random.default_rng(0).normal(size=(6, 4)))
    sets, distances = composition_distances(unit_mean, means, d, 0.0)
    nothing = np.zeros(0, np.int64)
    for j in range(6):
        others = [s for s in enumerate_sets(6, d) if s.sum() > 1 and not s[j]]
        gaps = np.linalg.norm(compose_sets(unit_mean, means, np.array(others)) - means[j], axis=1)
        part, gap = stand_for(np.array([j]), sets, distances)
        assert np.array_equal(part[0], others[gaps.argmin()])
        assert np.isclose(gap[0], gaps.min())
    assert stand_for(nothing, sets, distances)[0].shape == (0, 6)


def test_the_penalty_is_added_to_the_square():
    means = unit(np.random.default_rng(0).normal(size=(6, 4)))
    plain = composition_distances(unit_mean, means, 2, 0.0)[1]
    penalised = composition_distances(unit_mean, means, 2, 0.5)[1]
    assert np.allclose(penalised**2, plain**2 + 0.5)


@pytest.mark.parametrize("order", [nearest_first, elimination])
@pytest.mark.parametrize("k", [1, 2])
def test_two_clusters_compose_nothing(order, k):
    sets, distances = composition_distances(unit_mean, np.eye(k, 4), 2, 0.0)
    moved, levels = order(sets, distances)
    assert len(moved) == len(levels) == 0


@pytest.mark.parametrize("seed", range(8))
def test_levels_never_fall_and_are_distances_of_what_was_moved(seed):
    means = unit(np.random.default_rng(seed).normal(size=(7, 3)))
    sets, distances = composition_distances(unit_mean, means, 2 + seed % 2, 0.0)
    moved, levels = elimination(sets, distances)
    assert len(set(moved)) == len(moved) == 5  # two remain, and compose nothing but each other
    assert (np.diff(levels) >= 0).all()
    for n in range(1, len(moved) + 1):
        parts, gaps = stand_for(moved[:n], sets, distances)
        assert not parts[:, moved[:n]].any()
        assert np.isclose(gaps.max(), levels[n - 1])


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
