"""SRT: what a parser of others reads of ours, and what we read of others."""

from __future__ import annotations

import io

import pytest
import srt
from pyannote.core import Annotation, Segment

from diarize.errors import InputError
from diarize.formats.srt import parse_srt, read_srt, split_srt, spoken_srt, srt_text
from diarize.formats.turns import Turn


def conversation() -> Annotation:
    annotation = Annotation(uri="talk")
    annotation[Segment(0.5, 2.0)] = "<i>Ann\n\n--> [1]"
    annotation[Segment(1.0, 3661.25)] = "Zoë"
    return annotation


def test_another_parser_reads_it() -> None:
    first, second = srt.parse(srt_text(conversation()))
    assert (first.index, first.content) == (1, "[<i>Ann -> (1)]:")
    assert (second.index, second.content) == (2, "[Zoë]:")
    assert second.start.total_seconds() == 1.0
    assert second.end.total_seconds() == 3661.25
    assert list(srt.parse(srt_text(Annotation()))) == []


def test_what_others_write() -> None:
    text = (
        "1\n00:00:00,500 --> 00:00:02,000\n[SPEAKER_00]: so [laughs]: that\n\n"
        "2\n00:00:02,000 --> 00:00:03,000\n[applause]\n\n"
    )
    with pytest.warns(UserWarning, match="^input: 1 of 2 subtitles do not say who speaks"):
        assert read_srt(io.StringIO(text)) == {"input": [Turn(0.5, 2.0, "SPEAKER_00")]}


def test_who_speaks_and_what() -> None:
    assert spoken_srt("ann", "hello\n\nyou --> there") == "[ann]: hello\nyou -> there"
    assert split_srt("[ann]: hello\nyou") == ("ann", "hello\nyou")
    assert split_srt("well, [ann]: hello") == (None, "well, [ann]: hello")


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match=r"^input: no subtitle begins with its speaker"):
        read_srt(io.StringIO("1\n00:00:00,500 --> 00:00:02,000\nhello\n"))
    with pytest.raises(InputError, match=r"^input: no subtitles in this file$"):
        read_srt(io.StringIO("hello\n"))


def test_text_behind_a_blank_line_is_of_the_cue_before() -> None:
    text = (
        "no cue yet\n\n1\n0:00:01,0 --> 0:00:02,0\nHello there.\n\nHow are you?\nWell?\n \nTell\n\n"
        "2\n0:00:02,0 --> 0:00:03,0\n\nFine.\n\n3\n\n4\n0:00:04,0 --> 0:00:05,0\nI see.\n\nAnd?\n"
    )
    assert [cue.text for cue in parse_srt("x", text)] == [
        "Hello there.\nHow are you?\nWell?\nTell",
        "Fine.",
        "I see.\nAnd?",
    ]
