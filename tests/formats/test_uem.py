"""UEM: what is read, what is refused, and what is written."""

from __future__ import annotations

import io

import pytest
from pyannote.core import Segment, Timeline

from diarize.errors import InputError
from diarize.formats import read_uem, uem_text


def test_regions_are_joined_and_sorted() -> None:
    text = ";; c\r\nb 1 5 6\r\na 1 20.5 30\r\na 1 0 10\r\na 2 8 12\r\na 1 12 13\r\nb 1 7 7\r\n"
    regions = read_uem(io.StringIO(text))
    assert list(regions) == ["b", "a"]
    assert list(regions["a"]) == [Segment(0, 13), Segment(20.5, 30)]
    assert list(regions["b"]) == [Segment(5, 6)]
    assert uem_text(regions["a"]) == "a 1 0.000 13.000\na 1 20.500 30.000\n"
    assert read_uem(io.StringIO(uem_text(regions["a"]))) == {"a": regions["a"]}


def test_a_recording_without_a_name_and_one_in_two_words() -> None:
    assert uem_text(Timeline([Segment(0, 1)])) == "<NA> 1 0.000 1.000\n"
    assert uem_text(Timeline([Segment(0, 1.5)], uri="a b")) == "a_b 1 0.000 1.500\n"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("a 1 0", "3 fields"),
        ("a 1 0 10 20", "5 fields"),
        ("a 1 x 10", "the start 'x' is not a number"),
        ("a 1 0 y", "the end 'y' is not a number"),
        ("a 1 -1 10", "the start -1 is negative"),
        ("a 1 10 9.5", "the end 9.5 is before the start 10"),
    ],
)
def test_a_wrong_line_is_refused_with_its_place(line: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"^input, line 2: {reason}"):
        read_uem(io.StringIO("a 1 0 10\n" + line))
