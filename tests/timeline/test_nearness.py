"""How near windows lie to others of a speaker."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.sets import to_sphere
from diarize.timeline import nearness
from diarize.timeline.nearness import APART, AROUND, FAR, NUMBERS, SHARPNESS, how_near

N, K = 120, 3


@pytest.fixture
def vectors() -> np.ndarray:
    return to_sphere(np.random.default_rng(0).standard_normal((N, 5)))


@pytest.fixture
def alone() -> np.ndarray:
    return np.eye(K + 1, dtype=bool)[np.random.default_rng(1).integers(0, K + 1, N), :K]


@pytest.mark.parametrize("cell", [0, 5, 60, N - 1])
def test_windows_that_share_no_sound_are_compared(vectors, alone, cell):
    squares = ((vectors - vectors[cell]) ** 2).sum(axis=1)
    away = np.abs(np.arange(N) - cell)
    near = how_near(vectors, alone)
    assert near.shape == (K, N, NUMBERS)
    for own, held in zip(near[:, cell], alone.T, strict=True):
        compared = squares[held & (away > APART)]
        soft = [-np.log(np.mean(np.exp(-sharp * compared))) / sharp for sharp in SHARPNESS]
        np.testing.assert_allclose(own[: len(soft)], np.clip(soft, 0, FAR), atol=1e-4)
        around = vectors[held & (away > APART) & (away <= AROUND)]
        mean = to_sphere(around.sum(axis=0))
        expected = min(((vectors[cell] - mean) ** 2).sum(), FAR)
        assert own[len(soft)] == pytest.approx(expected, abs=1e-4)


def test_by_how_much_others_are_further(vectors, alone):
    own, further = np.split(how_near(vectors, alone), 2, axis=2)
    for speaker in range(K):
        others = np.delete(own, speaker, axis=0).min(axis=0)
        np.testing.assert_allclose(further[speaker], others - own[speaker], atol=1e-6)


def test_whoever_holds_nothing_alone_is_far(vectors):
    own, further = np.split(how_near(vectors, np.zeros((N, 1), bool)), 2, axis=2)
    assert (own == FAR).all() and not further.any()


def test_a_long_recording_is_compared_with_windows_from_all_of_it(vectors, monkeypatch):
    monkeypatch.setattr(nearness, "COMPARED", 4)
    held = np.ones((N, 1), bool)
    rows = np.repeat(np.eye(5)[[0, 1, 2, 3]], N // 4, axis=0)
    nearest = how_near(rows, held)[0, :, len(SHARPNESS) - 1]
    assert nearest[15] == pytest.approx(np.log(4) / SHARPNESS[-1], abs=0.02)
    assert (nearest[[0, N - 1]] > 1).all()  # the one compared with them is too close
