"""First centroids."""

from __future__ import annotations

import numpy as np

from diarize.clustering.composition import enumerate_sets
from diarize.clustering.seeding import random_rows, spread_rows
from diarize.clustering.set_composer import SetComposer

from .conftest import unit, unit_mean


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


def test_rows_that_coincide_can_be_drawn_once_each():
    rows = np.ones((4, 2)) / 2**0.5
    chosen = spread_rows(rows, composer(4, 2), np.zeros(10), 3, np.random.default_rng(0))
    assert np.allclose(chosen, rows[0])
