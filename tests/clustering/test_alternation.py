import numpy as np
import pytest

from diarize.clustering.alternation import Alternation
from diarize.clustering.composition import enumerate_sets
from diarize.clustering.set_composer import SetComposer


def mean(a, b):
    return (a + b) / 2


@pytest.fixture
def alternation():
    rng = np.random.default_rng(0)
    centroids = rng.normal(size=(3, 5))
    sets = enumerate_sets(3, 2)
    truth = rng.integers(len(sets), size=200)
    rows = (sets[truth] / sets[truth].sum(axis=1, keepdims=True)) @ centroids
    rows += rng.normal(0, 0.1, rows.shape)
    starts = rows[rng.integers(200, size=(6, 3))]
    return Alternation(rows, SetComposer(mean, sets, 5), np.zeros(len(sets)), starts)


def test_the_objective_never_rises_and_is_that_of_the_rows(alternation):
    while not alternation.monitor.settled.all():
        alternation.alternate(tol=1e-9, least_used=3)
    for restart, reached in enumerate(alternation.objective()):
        history = alternation.monitor.values(restart)
        assert np.diff(history).max() <= 1e-9 * history.max()
        np.testing.assert_allclose(history[-1], reached)


def test_the_best_restarts_go_on(alternation):
    alternation.alternate(tol=1e-9, least_used=3)
    best = np.sort(alternation.objective())[:2]
    alternation.keep_best(2)
    np.testing.assert_allclose(np.sort(alternation.objective()), best)
    alternation.alternate(tol=1e-9, least_used=3)
    assert (np.sort(alternation.objective()) <= best + 1e-9).all()
