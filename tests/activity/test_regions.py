from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from pyannote.core import Segment, Timeline

from diarize.activity import NetworkActivity, SileroActivity, clip_regions, whole
from diarize.activity.regions import (
    close_gaps,
    disjoint_regions,
    regions_of,
    runs,
    seconds_in,
    with_hysteresis,
)
from diarize.activity.segmentation import SegmentationActivity
from diarize.audio import SAMPLE_RATE, open_recording
from diarize.errors import InputError

Pairs = list[tuple[float, float]]


def regions(*pairs: tuple[float, float]) -> np.ndarray:
    return np.array(pairs, np.float64).reshape(-1, 2)


def test_the_whole_recording() -> None:
    source = (np.ones(3 * SAMPLE_RATE), SAMPLE_RATE)
    assert whole(open_recording(source)).tolist() == [[0.0, 3.0]]
    assert whole(open_recording(source, start=1.0, end=2.5)).tolist() == [[1.0, 2.5]]


def test_seconds_of_stretches_in_regions() -> None:
    spoken = regions_of(Timeline([Segment(3, 5), Segment(1, 2)]))
    assert spoken.tolist() == [[1, 2], [3, 5]]
    stretches = regions((0, 1), (1.5, 4), (2, 3), (0, 9), (4, 4))
    assert seconds_in(stretches, spoken).tolist() == [0, 1.5, 0, 3, 0]
    assert seconds_in(stretches, regions()).tolist() == [0] * 5


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (0, 9, [[1, 2], [3, 5]]),
        (1.5, 4, [[1.5, 2], [3, 4]]),
        (2, 3, []),
        (3.5, 3.6, [[3.5, 3.6]]),
        (6, 9, []),
    ],
)
def test_clipping(start: float, end: float, expected: list[list[float]]) -> None:
    assert clip_regions(regions((1, 2), (3, 5)), start, end).tolist() == expected
    assert clip_regions(regions(), start, end).shape == (0, 2)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 6)), max_size=8))
def test_regions_in_any_order_become_disjoint(given_regions: list[tuple[int, int]]) -> None:
    pairs = regions(*((begin, begin + length) for begin, length in given_regions))
    found = disjoint_regions(pairs)
    assert (found[1:, 0] >= found[:-1, 1]).all()
    halves = np.arange(0.25, 30)
    covered = ((halves >= pairs[:, :1]) & (halves < pairs[:, 1:])).any(axis=0)
    assert (((halves >= found[:, :1]) & (halves < found[:, 1:])).sum(axis=0) == covered).all()
    assert np.array_equal(disjoint_regions(found), found)


def test_regions_that_touch_stay_apart_and_others_are_refused() -> None:
    assert disjoint_regions([[2, 3], [1, 2]]).tolist() == [[1.0, 2.0], [2.0, 3.0]]
    assert disjoint_regions([]).shape == (0, 2)
    for wrong in ([[2.0, 1.0]], [[0.0, np.nan]], [1.0, 2.0], [[1.0, 2.0, 3.0]]):
        with pytest.raises(InputError, match="pairs of seconds"):
            disjoint_regions(wrong)


@pytest.mark.parametrize("kind", [NetworkActivity, SegmentationActivity, SileroActivity])
@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 0.0},
        {"threshold": 1.0},
        {"threshold": float("nan")},
        {"min_speech": -0.1},
        {"min_silence": float("inf")},
    ],
)
def test_options_out_of_range_are_refused(kind: type, options: dict[str, float]) -> None:
    model = {"model": "x.onnx"} if kind is SegmentationActivity else {}
    with pytest.raises(InputError, match=next(iter(options))):
        kind(**model, **options)


@given(arrays(np.float32, st.integers(0, 40), elements=st.sampled_from([0.1, 0.3, 0.45, 0.8])))
def test_hysteresis_is_a_switch(values: np.ndarray) -> None:
    on, expected = False, []
    for value in values:  # the definition, step by step
        on = value >= 0.5 if not on else value >= 0.4
        expected.append(on)
    assert with_hysteresis(values, 0.5, 0.4).tolist() == expected


@given(arrays(bool, st.integers(0, 30)))
def test_runs_hold_exactly_what_is_on(on: np.ndarray) -> None:
    found = runs(on)
    again = np.zeros(len(on), bool)
    for begin, end in found.tolist():
        assert not again[begin:end].any()
        again[begin:end] = True
    assert np.array_equal(again, on)
    assert (found[1:, 0] > found[:-1, 1]).all()


def test_gaps_by_hand() -> None:
    some = regions((0, 1), (1.1, 2), (2.5, 3), (3, 4))
    assert close_gaps(some, 0.2).tolist() == [[0, 2], [2.5, 4]]
    assert close_gaps(some, 0.0).tolist() == [[0, 1], [1.1, 2], [2.5, 4]]
    assert close_gaps(some, 9.0).tolist() == [[0, 4]]
    assert close_gaps(regions(), 1.0).shape == (0, 2)
    overlapping = regions((0, 1), (0.9, 2))
    assert close_gaps(overlapping, 0.0).tolist() == [[0, 2]]
