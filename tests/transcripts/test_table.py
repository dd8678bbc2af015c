"""Formats of transcripts by their names, and what does not fit them."""

from __future__ import annotations

import io

import pytest

from diarize.errors import InputError
from diarize.formats.turns import Turn
from diarize.transcripts import (
    FOR_READERS,
    TRANSCRIPTS,
    Transcript,
    label_transcripts,
    read_transcripts,
    text_format,
    transcript_format,
    transcripts_text,
)

CTM = "a 1 0.50 0.30 so 0.9\nb 1 0.50 0.30 no 0.9\n"


def test_the_ending_says_the_format() -> None:
    for name in TRANSCRIPTS:
        assert transcript_format(f"talk.{name.upper()}") == text_format(f"talk.{name}") == name
    assert [text_format(f"talk.{name}") for name in FOR_READERS] == list(FOR_READERS)
    assert text_format("-") is None
    with pytest.raises(InputError, match=r"^talk\.md: a transcript ends in \.json, \.srt, "):
        transcript_format("talk.md")
    with pytest.raises(InputError, match=r"^talk\.doc: a transcript is written to \.json, "):
        text_format("talk.doc")


def test_formats_that_are_not_there() -> None:
    with pytest.raises(InputError, match=r"^format md: a transcript is one of json, "):
        read_transcripts(io.StringIO(""), "md")
    with pytest.raises(InputError, match=r"^format doc: a transcript is written as one of json, "):
        transcripts_text([Transcript("a", ())], "doc")


def test_only_ctm_holds_several_recordings_or_none() -> None:
    said = read_transcripts(io.StringIO(CTM), "ctm")
    assert [one.uri for one in said] == ["a", "b"]
    assert read_transcripts(io.StringIO(""), "ctm") == [Transcript("input", ())]
    assert transcripts_text([], "ctm") == ""
    with pytest.raises(InputError, match=r"^2 recordings: srt holds one$"):
        transcripts_text(said, "srt")


def test_names_do_not_matter_where_there_is_one_recording_on_both_sides() -> None:
    said, turns = read_transcripts(io.StringIO(CTM), "ctm"), [Turn(0.0, 1.0, "ann")]
    (labelled,) = label_transcripts(said[:1], {"talk": turns})
    assert labelled.passages[0].speakers == ("ann",)
    with pytest.raises(InputError, match=r"^no turns of b$"):
        label_transcripts(said, {"a": turns})
