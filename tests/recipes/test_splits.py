"""Sets that fall in two."""

from __future__ import annotations

import numpy as np
import pytest
from splits import LEAST_IN_HALF, LEAST_RATIO, Priors, draw_sets

from diarize.clustering.dpgmm.moves import log_split_ratio
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.statistics import Statistics


def statistics(x):
    return Statistics(float(len(x)), x.sum(axis=0), x.T @ x)


@pytest.mark.parametrize("D", [2, 10])
@pytest.mark.parametrize("level", [0.0, 1.0])
def test_every_set_is_splittable(D, level):
    rows, halves = draw_sets(np.random.default_rng(0), D, np.full(12, level), 40)
    assert rows.shape == (12, 40, D) and halves.shape == (12, 40)
    priors = Priors.of(D)
    kappa, nu = (low + level * (high - low) for low, high in (priors.kappa, priors.nu))
    prior = NIW(np.zeros(D), kappa, np.eye(D), nu)
    for x, half in zip(rows.astype(float), halves, strict=True):
        assert LEAST_IN_HALF <= half.sum() <= 40 - LEAST_IN_HALF
        ratio = log_split_ratio(prior, statistics(x[~half]), statistics(x[half]), 1.0)
        assert ratio > LEAST_RATIO - 1e-3  # rows are kept in single precision


def test_hard_sets_are_hard_for_two_means():
    from train_splitnet import split_accuracy, two_means

    tests = {
        name: draw_sets(np.random.default_rng(0), 10, np.full(8, level), 60)
        for name, level in (("easy", 0.0), ("hard", 1.0))
    }
    found = split_accuracy(two_means, tests)
    assert found["easy"] > 0.95 > 0.8 > found["hard"]


def test_table_2_is_what_it_is():
    assert Priors.of(2) == Priors((0.1, 2.0), (10.0, 4.0))
    assert Priors.of(10) == Priors((0.1, 5.0), (20.0, 11.0))
    assert Priors.of(20) == Priors((0.1, 2.5), (25.0, 21.0))
