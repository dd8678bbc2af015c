"""Cues: times, blocks, lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.errors import InputError
from diarize.formats.cues import Cue, clock, parse_cues, shown_lines


def test_blocks_ends_of_lines_and_settings() -> None:
    text = (
        "WEBVTT - talk\r\n\r\nNOTE two\r\nlines\r\n\r\n"
        "intro\r\n00:01.500 --> 01:00:02.000 align:start line:0\r\n- a\r\n- b\r\n\r\n \r\n"
        "2\r\n100:00:01,5-->100:00:01,50\r\n\r\n00:01 --> 01:02\rc\r"
    )
    notes = ("WEBVTT - talk", "NOTE two\nlines")
    assert parse_cues("x", text) == [
        Cue(1.5, 3602.0, "- a\n- b", "align:start line:0", notes, "intro"),
        Cue(360001.5, 360001.5, "", name="2"),
        Cue(1.0, 62.0, "c"),
    ]


def test_a_file_may_end_in_the_middle_of_a_line() -> None:
    assert parse_cues("x", "1\n00:01,5 --> 00:02,05\nhello") == [Cue(1.5, 2.05, "hello", name="1")]
    assert parse_cues("x", "0:00 --> 277777:46:40")[0].end == 1e9  # the largest of all times


@given(st.integers(0, 10**9))
def test_a_time_is_read_as_it_is_written(milliseconds: int) -> None:
    time = milliseconds / 1000
    (cue,) = parse_cues("x", f"{clock(time, ',')} --> {clock(time, '.')}\n")
    assert (cue.start, cue.end) == (pytest.approx(time, abs=1e-6),) * 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("00:01 -> 00:02 -->", "not two times with --> between them"),
        ("00:00:02,000 --> 00:00:01,000", "the end 1 is before the start 2"),
        ("99999999999:00:00,0 --> 99999999999:00:01,0", "359999999996400 seconds are beyond"),
    ],
)
def test_times_that_cannot_be(line: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"^x, line 2: {reason}"):
        parse_cues("x", f"1\n{line}\nhello\n")


def test_lines_that_are_shown() -> None:
    assert shown_lines("a\n\n  \r\nb\x0bc\x00d\n") == "a\nb\nc d"
