"""The criterion for the number of speakers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from diarize.clustering import make
from diarize.clustering.selection import (
    BELIEVED,
    CROWD,
    DIMENSION,
    FLOOR,
    Criterion,
    Partition,
    search,
)
from diarize.scatter import Scatter

from ..making import voice_of

VOICES = Scatter(variance=0.38, dimension=25.0, rows_per_observation=3.0, most_rows=400)


def test_the_criterion_of_known_scatter_by_hand():
    criterion = Criterion(n_rows=40, dimension=25.0, floor=0.0, scatter=VOICES)
    value = criterion(6.0, np.array([20.0, 0.0, 20.0]), 2)
    spread = 2 / 25 * 40 * np.log(2)
    evidence = 2 * 3.0 * np.log(40 / 3.0)
    expected = 6.0 + 0.38 * (spread + evidence)
    assert value == pytest.approx(expected)
    twice = Criterion(40, 25.0, 0.0, VOICES, penalty=2.0)(6.0, np.array([20.0, 20.0]), 2)
    assert twice == pytest.approx(2 * expected - 6.0)


def test_the_criterion_of_unknown_scatter_by_hand():
    criterion = Criterion(n_rows=40, dimension=4.0, floor=1e-9)
    value = criterion(76.0, np.array([10.0, 30.0]), 2)
    entropy = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    expected = 40 * np.log(2) + 2 / 4 * 40 * entropy + 2 * np.log(40)
    assert value == pytest.approx(expected)


def test_no_scatter_is_no_reason_for_more_speakers():
    flat = Criterion(n_rows=10, dimension=4.0, floor=1e-9)
    assert flat(0.0, np.array([10.0]), 1) < flat(0.0, np.array([5.0, 5.0]), 2)
    assert flat(0.0, np.ones(10), 10) == np.inf
    zeros = Criterion.of(np.zeros((3, 2)), 1.0)
    assert zeros(0.0, np.array([3.0]), 1) < zeros(0.0, np.array([2.0, 1.0]), 2)


def test_what_is_known_of_the_rows():
    rows = np.eye(400)[:30]
    floor = Criterion.of(rows, 1.0).floor
    assert floor == pytest.approx(FLOOR * 29 / 30, abs=1e-16)  # of the variance
    assert Criterion.of(rows, 1.0) == Criterion(30, DIMENSION, floor, None, 1.0)
    assert Criterion.of(2 * rows[:, :3] + 1, 1.0).dimension == 3
    assert Criterion.of(np.eye(3), 1.0).dimension == 2  # on the sphere
    assert Criterion.of(np.ones((3, 1)), 1.0).dimension == 1
    known = Scatter(0.2, 31.0)
    assert Criterion.of(rows, 1.0, known) == Criterion(30, 31.0, floor, known, 1.0)
    assert Criterion.of(rows, 1.0, known).effective_rows == 30
    assert Criterion.of(2 * rows, 1.0, known).scatter is None  # it is of unit vectors


def test_of_many_rows_those_are_believed_that_the_scatter_says():
    halves = np.array([500.0, 500.0])
    all_rows, some = Scatter(0.38, 25.0), Scatter(0.38, 25.0, most_rows=100)
    spread = 2 / 25 * np.log(2)
    for known, m in ((all_rows, 1000), (some, 100)):
        value = Criterion(1000, 25.0, 0.0, known)(300.0, halves, 2)
        assert value == pytest.approx(m * 0.3 + 0.38 * (m * spread + 2 * np.log(m)))


def test_of_sounds_that_come_again_one_and_a_half_are_believed():
    long = np.tile(voice_of(np.random.default_rng(0), 200, VOICES), (30, 1))
    criterion = Criterion.of(long, 1.0, replace(VOICES, most_rows=None))
    m, spread = BELIEVED * 200, 2 / 25 * np.log(2)
    value = criterion(1800.0, np.array([3000.0, 3000.0]), 2)
    evidence = 2 * 3 * np.log(m / 3)
    assert value == pytest.approx(m * 0.3 + VOICES.variance * (m * spread + evidence))


def test_a_sample_says_what_its_rows_do_which_are_further_apart():
    long = np.tile(voice_of(np.random.default_rng(0), 200, VOICES), (30, 1))
    every = Criterion.of(long, 1.0, VOICES)  # three rows are one observation
    for size, r in ((6000, 3.0), (4000, 2.0), (1500, 1.0)):
        some = every.of_sample(size)
        assert some.n_rows == size and some.scatter is not None
        assert some.scatter.rows_per_observation == pytest.approx(r)
        assert some.effective_rows / r == pytest.approx(
            every.effective_rows / 3
        )  # though it is not heard in them
        assert some.scatter.most_rows == pytest.approx(VOICES.most_rows * r / 3, abs=0.5)
    unknown = Criterion.of(long, 1.0).of_sample(150)
    assert unknown == replace(Criterion.of(long, 1.0), n_rows=150)


@pytest.mark.parametrize("backend", ["ckm", "cap", "gcr", "ca", "forest"])
def test_who_says_the_same_again_is_no_more_people(backend: str):
    generator = np.random.default_rng(1)
    two = [voice_of(generator, 12, VOICES) for _ in range(2)]
    rows = np.concatenate([voice for _ in range(16) for voice in two])
    found = make(backend, scatter=VOICES, max_set_size=1, random_state=0).fit(rows)
    np.testing.assert_array_equal(found.labels_, np.tile(np.repeat([0, 1], 12), 16))


def test_splitting_one_cloud_is_not_rewarded_at_any_size():
    generator = np.random.default_rng(0)
    for n in (20, 200, 2000):
        scatter = generator.normal(size=(n, 64)) * np.sqrt(VOICES.variance / 64)
        scatter = scatter[np.argsort(scatter[:, 0])]  # split along an axis, as well as one can
        halves = np.split(scatter, [n // 2])
        criterion = Criterion(n, 25.0, 0.0, VOICES)
        one = criterion(float(((scatter - scatter.mean(0)) ** 2).sum()), np.array([float(n)]), 1)
        ssd = float(sum(((h - h.mean(0)) ** 2).sum() for h in halves))
        assert one < criterion(ssd, np.array([n / 2, n / 2]), 2)


def test_the_search_stops_when_nothing_is_better():
    values = {1: 5.0, 2: 4.0, 3: 6.0, 4: 3.5, 5: 9.0, 6: 9.0, 7: 9.0, 8: 0.0}
    asked = []

    def attempt(number, previous):
        asked.append((number, previous))
        return Partition(values[number], np.array([10.0]), number), number

    criterion = Criterion(10, 25.0, 0.0, VOICES, penalty=0.0)  # the sum of squares alone
    assert search(range(1, 9), attempt, criterion) == 4
    assert asked == [(1, None), *((i, i - 1) for i in range(2, 8))]


@pytest.mark.parametrize("people", [CROWD, 2 * CROWD, 4 * CROWD])
def test_in_a_crowd_everybody_is_borne_out_by_as_many_rows_as_among_ten(people):
    scatter = replace(VOICES, rows_per_observation=2.0, most_rows=25 * CROWD)
    rows = np.linspace(160.0, 50.0, people)  # of each; whoever is not told apart is 0.6 off

    def partition(k: int) -> Partition:
        found, missed = rows[:k].copy(), rows[k:].sum()
        found[0] += missed
        return Partition(float(rows.sum() * VOICES.variance + 0.6 * missed), found, k)

    partitions = [partition(k) for k in range(1, people + 1)]
    criterion = Criterion(round(rows.sum()), 25.0, 0.0, scatter)
    assert partitions[criterion.likeliest(partitions)].k == people
    as_among_ten = [criterion(*one) for one in partitions]
    assert (partitions[int(np.argmin(as_among_ten))].k == people) == (people == CROWD)


@pytest.mark.parametrize("seed", range(6))
def test_few_rows_of_few_columns_are_not_nearly_as_many_speakers(seed):
    rows = np.random.default_rng(seed).normal(size=(20, 2))
    assert make("ac").fit(rows).n_speakers_ <= 3


@pytest.mark.parametrize("backend", ["ckm", "cap", "gcr", "ca", "forest", "ac", "fcm", "gmm"])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_far_from_the_origin_there_are_as_many_speakers(backend: str, shift: float) -> None:
    generator = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 40)
    rows = 4 * np.eye(3)[truth] + 0.3 * generator.normal(size=(120, 3)) + shift
    found = make(backend, max_set_size=1, random_state=0).fit(rows)
    assert adjusted_rand_score(truth, found.labels_) == 1.0
