"""WebVTT: what a parser of others reads of ours, and what we read of others."""

from __future__ import annotations

import html
import io
from pathlib import Path

import pytest
import webvtt
from pyannote.core import Annotation, Segment

from diarize.errors import InputError
from diarize.formats.cues import Cue
from diarize.formats.turns import Turn
from diarize.formats.vtt import (
    marked_up,
    parse_vtt,
    plain_vtt,
    read_vtt,
    spoken_vtt,
    vtt_text,
    without_voices,
    write_vtt,
)


def test_another_parser_reads_it() -> None:
    annotation = Annotation(uri="talk")
    annotation[Segment(0.5, 2.0)] = "<i>Ann & B\n\n-->"
    annotation[Segment(1.0, 3661.25)] = "Zoë"
    first, second = webvtt.from_string(vtt_text(annotation))
    assert html.unescape(first.voice) == html.unescape(first.text) == "<i>Ann & B -->"
    assert (second.voice, second.start, second.end) == ("Zoë", "00:00:01.000", "01:01:01.250")
    assert len(webvtt.from_string(vtt_text(Annotation()))) == 0


def test_several_voices_in_one_cue() -> None:
    text = "WEBVTT\n\n00:01.000 --> 00:02.000\n<v.loud Ann B>Hi</v>\n<v Zoë>Hi <v Ann B>there\n"
    assert read_vtt(io.StringIO(text)) == {
        "input": [Turn(1.0, 2.0, "Ann B"), Turn(1.0, 2.0, "Zoë")]
    }


def test_markup() -> None:
    assert spoken_vtt("a>b", marked_up("x < y\n\nz")) == "<v a&gt;b>x &lt; y\nz</v>"
    assert marked_up("\"so\" & 'so'") == "\"so\" &amp; 'so'"
    assert without_voices("<v Ann><i>so</i> it is</v>") == "<i>so</i> it is"
    assert plain_vtt("<i>x</i> &lt; <00:01.000>y") == "x < y"


def test_notes_styles_and_settings_are_kept() -> None:
    text = "WEBVTT\n\nSTYLE\n::cue {}\n\n00:00:01.000 --> 00:00:02.000 line:0\nhello\n"
    assert write_vtt(parse_vtt("x", text)) == text
    assert parse_vtt("x", text)[0] == Cue(
        1.0, 2.0, "hello", "line:0", ("WEBVTT", "STYLE\n::cue {}")
    )


def test_what_is_refused() -> None:
    with pytest.raises(InputError, match=r"^input: no cue says who speaks"):
        read_vtt(io.StringIO("WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n"))
    with pytest.raises(InputError, match=r"^input: does not begin with WEBVTT$"):
        read_vtt(io.StringIO("WEBVTTS\n"))


def test_tags_without_an_end_take_linear_time(tmp_path: Path) -> None:
    path = tmp_path / "long.vtt"
    path.write_text("WEBVTT\n\n00:01.000 --> 00:02.000\n<v ann>" + "<v " * 300_000 + "\n")
    assert [turn.speaker for turn in read_vtt(path)["long"]] == ["ann"]  # hours, once
