"""The thresholds against the model that they are derived from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.clustering.links.thresholds import (
    Thresholds,
    pair_similarity,
)

COSINES = st.floats(0.05, 0.95)
COUNTS = st.integers(1, 10_000)


def sum_length(k, cluster):
    """Expected length of the sum of k vectors of one cluster, by which it becomes the centroid."""
    return np.sqrt(k**2 * cluster**2 + k * (1 - cluster**2))  # (12)


def vector_similarity(k, cluster):
    """Expected similarity of a vector and the centroid of k others of its cluster."""
    return cluster**2 / np.sqrt(1 / k + (1 - 1 / k) * cluster**2)  # (13)


def draw_cluster(n: int, dimension: int, cosine: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A center, and n vectors at one angle from it (lemma 2)."""
    rng = np.random.default_rng(seed)
    center = np.eye(dimension)[0]
    across = rng.normal(size=(n, dimension))
    across[:, 0] = 0
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return center, cosine * center + np.sqrt(1 - cosine**2) * across


@pytest.mark.parametrize("dimension", [128, 256])
@pytest.mark.parametrize("cosine", [0.4, 0.6, 0.8])
@pytest.mark.parametrize(("k", "other"), [(1, 1), (2, 1), (5, 1), (5, 3), (12, 12)])
def test_what_they_are_in_a_simulation(dimension: int, cosine: float, k: int, other: int) -> None:
    repetitions = 400
    _, vectors = draw_cluster(repetitions * (k + other), dimension, cosine, seed=k + 100 * other)
    vectors = vectors.reshape(repetitions, k + other, dimension)
    sums, others = vectors[:, :k].sum(axis=1), vectors[:, k:].sum(axis=1)
    lengths, other_lengths = np.linalg.norm(sums, axis=1), np.linalg.norm(others, axis=1)
    similarities = np.einsum("rp,rp->r", sums, others) / (lengths * other_lengths)
    error = 4 / np.sqrt(dimension * repetitions)
    assert lengths.mean() == pytest.approx(sum_length(k, cosine), rel=0.01)  # (12)
    assert similarities.mean() == pytest.approx(
        pair_similarity(k, other, cosine), abs=error
    )  # (16)
    if other == 1:
        assert similarities.mean() == pytest.approx(vector_similarity(k, cosine), abs=error)  # (13)


@given(COSINES, COUNTS, COUNTS)
def test_a_vector_is_a_pair_with_one(cosine: float, k: int, other: int) -> None:
    assert pair_similarity(k, 1, cosine) == pytest.approx(vector_similarity(k, cosine))  # (17)
    assert pair_similarity(k, other, cosine) == pytest.approx(pair_similarity(other, k, cosine))
    assert pair_similarity(k + 1, other, cosine) > pair_similarity(k, other, cosine)


@given(COSINES, st.floats(0, 1))
def test_the_limits(cosine: float, share: float) -> None:
    many = 10**12
    pair = cosine**2 + share * (1 - cosine**2)
    assert pair_similarity(1, 1, cosine) == pytest.approx(cosine**2)
    assert vector_similarity(many, cosine) == pytest.approx(cosine)  # (15)
    assert pair_similarity(many, many, cosine) == pytest.approx(1)  # (18)
    bounds = Thresholds(cosine, 0.9, min(pair, 1.0))
    assert bounds.of_pair(1, 1) == pytest.approx(cosine**2)
    assert bounds.of_pair(many, many) == pytest.approx(pair)  # (23)
    # (25): after the interpolation no longer T_c
    limit = cosine**2 + (pair - cosine**2) * cosine / (1 + cosine)
    assert bounds.of_vector(many) == pytest.approx(limit)


def test_without_anisotropy_nothing_is_interpolated() -> None:
    bounds, counts = Thresholds(0.6, 0.7, 1.0), np.arange(1, 50)
    assert np.allclose(bounds.of_pair(counts, 7), pair_similarity(counts, 7, 0.6))
    assert np.allclose(bounds.of_vector(counts), vector_similarity(counts, 0.6))


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((0.0, 0.7, 0.8), "T_c must lie between 0 and 1"),
        ((1.0, 0.7, 1.0), "T_c must lie between 0 and 1"),
        ((0.5, 0.0, 0.8), "T_s must lie above 0"),
        ((0.5, 1.1, 0.8), "T_s must lie above 0"),
        ((0.9, 0.7, 0.8), r"T_p must lie between T_c\^2 and 1"),
        ((0.5, 0.7, 1.2), "T_p must lie"),
        ((0.5, 0.7, float("nan")), "T_p must lie"),
        ((True, 0.7, 0.8), "T_c must be a number"),
    ],
)
def test_thresholds_that_make_no_sense_are_refused(values, reason) -> None:
    with pytest.raises(ValueError, match=reason):
        Thresholds(*values)
