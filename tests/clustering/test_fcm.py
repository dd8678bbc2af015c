"""Fuzzy c-means against scikit-fuzzy, and against its own equations row by row."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from diarize.clustering import fcm
from diarize.clustering.fcm import FCM, FuzzyMeans, memberships
from diarize.sets import SpeakerSets

from .conftest import unit, unit_mean

ROWS = np.array(
    [[0, 0], [1, 0], [0, 1], [8, 0], [9, 1], [8, 2], [1, 7], [0, 8], [2, 8], [4, 4], [5, 3]], float
)
# scikit-fuzzy 0.5.0, `cmeans(ROWS.T, 3, m, 1e-12, 5000)`, the best of 20 seeds: objective, centers,
# memberships of the last two rows.
PEER = {
    1.3: (
        32.016831632742594,
        [[0.3813775, 0.3808672], [6.9924343, 1.86302], [1.0984258, 7.5463881]],
        [[0.0822957, 0.7457099, 0.1719944], [0.0036976, 0.9946492, 0.0016532]],
    ),
    2.0: (
        21.449731889055105,
        [[0.5335874, 0.4928882], [7.8446073, 1.3254963], [1.1930319, 7.433646]],
        [[0.2989675, 0.3314332, 0.3695993], [0.239465, 0.5765763, 0.1839588]],
    ),
    3.0: (
        9.761664503765724,
        [[0.4775833, 0.4346836], [8.0995384, 1.225496], [1.1600458, 7.4225767]],
        [[0.3185332, 0.3225045, 0.3589623], [0.2990899, 0.435404, 0.2655061]],
    ),
}


def fit(rows, **options):
    return FCM(**{"compose": unit_mean, "random_state": 0, **options}).fit(rows)


@pytest.mark.parametrize("m", PEER)
@pytest.mark.parametrize("block", [4, 2**20])
def test_it_finds_what_scikit_fuzzy_finds(m, block, monkeypatch):
    monkeypatch.setattr(fcm, "BLOCK_VALUES", block)
    objective, centers, degrees = PEER[m]
    options = {"n_speakers": 3, "fuzzifier": m, "tol": 0.0, "max_iter": 5000, "n_restarts": 20}
    for rows in (ROWS, ROWS + 1000):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # of a tolerance of zero
            model = fit(rows, **options)
        assert model.objective_ == pytest.approx(objective, rel=1e-9)
        assert np.allclose(model.centroids_ - rows[0], centers, atol=1e-6)  # in the rows' order
        found = memberships(rows, model.centroids_, m)
        assert np.allclose(found[9:], degrees, atol=1e-6)
        assert np.allclose(found.sum(axis=1), 1)
        held = SpeakerSets((found > 1 / 3) | (found == found.max(axis=1, keepdims=True)))
        assert model.sets_ == held


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_memberships_are_ratios_of_distances(dtype):
    generator = np.random.default_rng(0)
    rows = (generator.normal(size=(30, 3)) + 20).astype(dtype)
    centers = generator.normal(size=(4, 3)) + 20
    for m in (1.1, 1.7, 2.5):
        distances = ((rows[:, None].astype(np.float64) - centers) ** 2).sum(axis=2)
        ratios = (distances[:, :, None] / distances[:, None]) ** (1 / (m - 1))
        expected = 1 / ratios.sum(axis=2)
        assert np.allclose(memberships(rows, centers, m), expected, atol=1e-3)
    at_center = memberships(centers.astype(dtype), centers, 1.5)
    assert np.allclose(at_center, np.eye(4), atol=1e-3)


def test_the_objective_never_rises():
    generator = np.random.default_rng(0)
    rows = unit(generator.normal(size=(80, 5)))
    for m in (1.05, 1.5, 2.0):
        run = FuzzyMeans(rows, generator.normal(size=(6, 4, 5)), m)
        values = []
        for _ in range(40):
            run.iterate(0.0)
            values.append(run.objective)
        falls = -np.diff(values, axis=0)
        assert falls.min() >= -1e-9 * np.max(values)


def test_converged_restarts_stay_where_they_are():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    run = FuzzyMeans(rows, rows[:6].reshape(2, 3, 3).copy(), 1.5)
    while not run.converged.any():
        run.iterate(1e-5)
    first = int(run.converged.argmax())
    centers, iterations = run.centers[first].copy(), run.iterations[first]
    run.iterate(1e-5)
    assert np.array_equal(run.centers[first], centers)
    assert run.iterations[first] == iterations
    best = run.objective.min()
    run.keep_best(1)
    assert run.objective.tolist() == [best]


def test_rows_between_two_speakers_hold_both():
    corners = 10 * np.eye(3)
    middles = (corners + np.roll(corners, 1, axis=0)) / 2
    rows = np.concatenate([np.repeat(corners, 20, axis=0), middles])
    model = fit(rows, n_speakers=3, fuzzifier=2.0)
    assert (model.sets_.sizes == [1] * 60 + [2] * 3).all()
    assert (fit(rows, n_speakers=3, fuzzifier=2.0, threshold=0.9).sets_.sizes == 1).all()
    assert (fit(rows, n_speakers=3, fuzzifier=2.0, max_set_size=1).sets_.sizes == 1).all()


def test_the_seed_and_the_order_do_not_change_the_best_objective(make_world):
    rows = make_world(n=80, noise=0.6).rows
    order = np.random.default_rng(0).permutation(80)
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(16, 16)))[0]
    plain = fit(rows, n_speakers=3)
    moved = fit(rows[order] @ rotation, n_speakers=3, random_state=1)
    assert np.isclose(plain.objective_, moved.objective_, rtol=1e-5)
