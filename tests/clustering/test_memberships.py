"""From degrees to sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.clustering import make
from diarize.clustering.memberships import Mixture, SoftClusterer, members, use_at_least

from .conftest import unit_mean


def test_a_row_holds_whom_it_belongs_to_enough():
    degrees = np.array([[0.5, 0.4, 0.1], [0.2, 0.2, 0.6], [0.3, 0.35, 0.35], [0.34, 0.33, 0.33]])
    expected = [[1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 0]]
    assert members(degrees, 1 / 3, 2).astype(int).tolist() == expected
    assert members(degrees, 0.9, 2).argmax(axis=1).tolist() == [0, 2, 1, 0]  # at least one
    assert members(degrees, 0.9, 2).sum() == 4
    assert members(degrees, 0.0, 2).sum(axis=1).tolist() == [2] * 4  # at most two
    assert members(degrees, 0.0, 1).argmax(axis=1).tolist() == [0, 2, 1, 0]
    assert members(degrees, 0.0, 9).all()


def test_equal_degrees_are_one_speaker():
    assert members(np.full((2, 4), 0.25), 0.25, 3).tolist() == [[True, False, False, False]] * 2


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 4))
def test_as_many_speakers_as_there_must_be(seed, k, more):
    generator = np.random.default_rng(seed)
    degrees = generator.dirichlet(np.full(k, 0.1), size=k + more)
    membership = members(degrees, 0.3, 2)
    before = membership.copy()
    use_at_least(membership, degrees, k)
    assert membership.any(axis=0).all()
    assert membership.any(axis=1).all()
    if before.any(axis=0).all():
        assert np.array_equal(before, membership)


@dataclass(kw_only=True, eq=False, repr=False)
class Halves(SoftClusterer):
    """Half of the first value belongs to each of two speakers, the rest to the first."""

    compose: Any = unit_mean
    threshold: float | None = None
    count_penalty: float = 1.0
    max_iter: int = 5
    sample_size: int | None = None
    random_state: Any = 0

    def _mix(self, rows, k, generator):
        self.seen_ = len(rows)

        def degrees(some):
            return np.stack([1 - some[:, 0] / 2, some[:, 0] / 2], axis=1)

        return Mixture(degrees, np.zeros((2, rows.shape[1])), converged=self.max_iter > 1)


def test_the_threshold_is_one_over_the_speakers_unless_it_is_given():
    rows = np.array([[1.2], [0.9], [0.2]])
    assert Halves(n_speakers=2).fit(rows).sets_.to_lists() == [[0], [1], [1]]
    model = Halves(n_speakers=2, threshold=0.39).fit(rows)
    assert model.sets_.to_lists() == [[0, 1], [0, 1], [0]]


def test_a_sample_is_fitted_and_every_row_is_judged_itself():
    rows = np.linspace(0, 2, 50)[:, None]
    model = Halves(n_speakers=2, sample_size=10).fit(rows)
    assert model.seen_ == model.sampled_ == 10
    assert model.labels_.tolist() == [0] * 25 + [1] * 25


@pytest.mark.parametrize("backend", ["fcm", "gmm"])
def test_memberships_of_far_speakers_underflow(backend):
    noise = np.random.default_rng(0).normal(0, 1e-3, (60, 128))
    rows = (np.repeat(np.eye(128)[:3], 20, axis=0) + noise).astype(np.float32)
    with np.errstate(all="raise"):
        assert make(backend, max_set_size=1, random_state=0).fit(rows).n_speakers_ == 3
