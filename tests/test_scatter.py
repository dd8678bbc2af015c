"""What may be known of vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.scatter import DOUBLED, NARROW, Axes, Likeness, Scatter


@pytest.mark.parametrize("values", [(0.0, 25.0), (0.4, -1.0), (np.nan, 3.0), (0.4, 3.0, np.inf)])
def test_numbers_that_cannot_be_are_refused(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="numbers of a scatter must be finite and above 0"):
        Scatter(*values)


def test_axes_fit_each_other() -> None:
    good = {"mean": np.zeros(5), "axes": np.eye(2, 5), "within": np.eye(2), "total": np.eye(2)}
    Axes(**good)
    for name, value in (("mean", np.zeros(4)), ("within", np.eye(3)), ("axes", np.eye(3, 5))):
        with pytest.raises((ValueError, TypeError)):  # the latter while shapes are checked
            Axes(**{**good, name: value})
    with pytest.raises(ValueError, match="not finite"):
        Axes(**{**good, "total": np.full((2, 2), np.nan)})


def test_voices_lie_along_the_mean_of_all() -> None:
    axes = Axes(0.5 * np.eye(5)[0], np.eye(2, 5, 1), np.eye(2), np.eye(2))
    vectors = np.array([[1, 0, 0, 0, 0], [0.6, 0.8, 0, 0, 0], [0, 0, 1, 0, 0], [-1, 0, 0, 0, 0]])
    np.testing.assert_allclose(axes.along_mean(vectors), [2.0, 1.2, 0.0, -2.0])
    assert axes.one_sided and not replace(axes, mean=0.3 * axes.mean).one_sided
    assert axes.along_mean(vectors[None].astype(np.float32)).shape == (1, 4)


def test_alike_is_a_cosine() -> None:
    assert Scatter(0.4, 3.0, alike=-0.5).alike == -0.5
    for value in (1.5, float("nan")):
        with pytest.raises(ValueError, match="alike is a cosine"):
            Scatter(0.4, 3.0, alike=value)


def test_windows_that_lie_denser_say_as_much_in_the_same_time() -> None:
    known = Scatter(0.4, 3.0, rows_per_observation=3.0, most_rows=400, alike=0.8)
    denser = known.denser(2.5)
    assert denser.rows_per_observation == 7.5 and denser.most_rows == 1000
    assert (denser.variance, denser.dimension, denser.alike) == (0.4, 3.0, 0.8)
    assert Scatter(0.4, 3.0).denser(2.0).most_rows is None


def test_windows_that_lie_far_apart_say_no_more_than_one_that_stands_alone() -> None:
    known = Scatter(0.4, 3.0, rows_per_observation=3.0, most_rows=400)
    assert known.denser(0.5).rows_per_observation == 1.5 and known.denser(0.5).most_rows == 200
    assert known.denser(0.25).rows_per_observation == 1.0
    assert known.denser(0.0001).most_rows == 1


def test_in_a_narrow_band_nearer_centroids_are_two_voices() -> None:
    known = Scatter(0.4, 3.0, alike=0.8)
    assert known.within(narrow=True).alike == pytest.approx(1 - NARROW * 0.2)
    assert known.within(narrow=False) == known
    assert Scatter(0.4, 3.0).within(narrow=True) == Scatter(DOUBLED * 0.4, 3.0)


@given(st.floats(-1, 1), st.floats(0.1, 5))
def test_the_same_share_of_a_distance_says_as_much_in_a_narrow_band(
    cosine: float, scarcity: float
) -> None:
    known = Likeness()
    narrow = known.within(narrow=True)
    nearer = 1 - NARROW * (1 - cosine)
    assert narrow.log_odds(nearer, scarcity) == pytest.approx(known.log_odds(cosine, scarcity))
    assert known.within(narrow=False) == known
