from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.report.errors import KINDS, error_intervals, partners
from diarize.scoring.der import speaker_time
from diarize.scoring.elements import TICKS_PER_SECOND, decompose

from ..making import annotation

turn = st.tuples(st.integers(0, 20), st.integers(1, 9), st.sampled_from("abc"))


def test_each_kind_lies_where_it_is_made() -> None:
    truth = annotation((0, 4, "ann"), (3, 8, "bob"))
    found = annotation((0, 4, "S0"), (4, 7, "S1"), (7, 8, "S0"), (9, 10, "S1"))
    elements = decompose(truth, found)
    assert error_intervals(elements) == {
        "missed": [(3.0, 4.0)],  # bob, while ann speaks
        "false alarm": [(9.0, 10.0)],
        "confusion": [(7.0, 8.0)],
    }
    assert partners(elements) == [(0, 0), (1, 1)]


def test_intervals_that_touch_are_one() -> None:
    truth = annotation((0, 6, "ann"), (2, 4, "bob"))
    assert error_intervals(decompose(truth, annotation()))["missed"] == [(0.0, 6.0)]


def test_who_shares_nothing_is_nobodys_partner() -> None:
    assert partners(decompose(annotation((0, 1, "a")), annotation((5, 6, "b")))) == []


@given(st.lists(turn, max_size=8), st.lists(turn, max_size=8))
def test_they_are_where_the_error_rate_counts(
    said: list[tuple[int, int, str]], heard: list[tuple[int, int, str]]
) -> None:
    truth, found = (
        annotation(*((start, start + length, who) for start, length, who in turns))
        for turns in (said, heard)
    )
    elements = decompose(truth, found)
    intervals = error_intervals(elements)
    counted = speaker_time(elements)[1:]  # speaker time: of several speakers, several times
    for kind, ticks in zip(KINDS, counted, strict=True):
        time = sum(end - start for start, end in intervals[kind])
        most = max(len(truth.labels()), len(found.labels()), 1)
        assert time <= ticks / TICKS_PER_SECOND + 1e-9 <= most * time + 1e-6
        for (_, end), (start, _) in zip(intervals[kind], intervals[kind][1:], strict=False):
            assert end < start


def test_an_empty_pair_has_no_errors() -> None:
    assert error_intervals(decompose(annotation(), annotation())) == {kind: [] for kind in KINDS}


@pytest.mark.parametrize("skip_overlap", [False, True])
def test_what_is_not_scored_is_no_error(skip_overlap: bool) -> None:
    elements = decompose(
        annotation((0, 4, "a"), (2, 4, "b")), annotation((0, 4, "a")), skip_overlap=skip_overlap
    )
    assert error_intervals(elements)["missed"] == ([] if skip_overlap else [(2.0, 4.0)])
