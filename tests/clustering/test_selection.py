"""The criterion for the number of speakers."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.clustering.selection import (
    DIMENSION,
    FLOOR,
    ROWS_PER_OBSERVATION,
    SCATTER,
    Criterion,
    search,
)


def test_the_criterion_on_the_sphere_by_hand():
    criterion = Criterion(n_rows=40, dimension=25.0, floor=0.0, on_sphere=True)
    value = criterion(6.0, np.array([20.0, 0.0, 20.0]), 2)
    spread = 2 / 25 * 40 * np.log(2)
    evidence = 2 * ROWS_PER_OBSERVATION * np.log(40 / ROWS_PER_OBSERVATION)
    expected = 6.0 + SCATTER * (spread + evidence)
    assert value == pytest.approx(expected)
    twice = Criterion(40, 25.0, 0.0, True, penalty=2.0)(6.0, np.array([20.0, 20.0]), 2)
    assert twice == pytest.approx(2 * expected - 6.0)


def test_the_criterion_elsewhere_by_hand():
    criterion = Criterion(n_rows=40, dimension=4.0, floor=1e-9, on_sphere=False)
    value = criterion(76.0, np.array([10.0, 30.0]), 2)
    entropy = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    expected = 40 * np.log(2) + 2 / 4 * 40 * entropy + 2 * np.log(40)
    assert value == pytest.approx(expected)


def test_no_scatter_is_no_reason_for_more_speakers():
    flat = Criterion(n_rows=10, dimension=4.0, floor=1e-9, on_sphere=False)
    assert flat(0.0, np.array([10.0]), 1) < flat(0.0, np.array([5.0, 5.0]), 2)
    assert flat(0.0, np.ones(10), 10) == np.inf
    zeros = Criterion.of(np.zeros((3, 2)), 1.0)
    assert zeros(0.0, np.array([3.0]), 1) < zeros(0.0, np.array([2.0, 1.0]), 2)


def test_what_is_known_of_the_rows():
    rows = np.eye(400)[:30]
    assert Criterion.of(rows, 1.0) == Criterion(30, DIMENSION, FLOOR, True, 1.0)
    assert Criterion.of(2 * rows[:, :3] + 1, 1.0).dimension == 3
    assert not Criterion.of(2 * rows, 1.0).on_sphere


def test_splitting_one_cloud_is_not_rewarded_at_any_size():
    generator = np.random.default_rng(0)
    for n in (20, 200, 2000):
        scatter = generator.normal(size=(n, 64)) * np.sqrt(SCATTER / 64)
        scatter = scatter[np.argsort(scatter[:, 0])]  # split along an axis, as well as one can
        halves = np.split(scatter, [n // 2])
        criterion = Criterion(n, min(DIMENSION, 64.0), 0.0, True)
        one = criterion(float(((scatter - scatter.mean(0)) ** 2).sum()), np.array([float(n)]), 1)
        ssd = float(sum(((h - h.mean(0)) ** 2).sum() for h in halves))
        assert one < criterion(ssd, np.array([n / 2, n / 2]), 2)


def test_the_search_stops_when_nothing_is_better():
    values = {1: 5.0, 2: 4.0, 3: 6.0, 4: 3.5, 5: 9.0, 6: 9.0, 7: 9.0, 8: 0.0}
    asked = []

    def attempt(number, previous):
        asked.append((number, previous))
        return values[number], number

    assert search(range(1, 9), attempt) == 4
    assert asked == [(1, None), *((i, i - 1) for i in range(2, 8))]
