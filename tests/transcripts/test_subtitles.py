"""Transcripts as subtitles."""

from __future__ import annotations

import json

import srt
import webvtt

from diarize.formats.turns import Turn
from diarize.transcripts.passages import Passage, Transcript, Word, label
from diarize.transcripts.subtitles import (
    parse_srt_transcript,
    parse_vtt_transcript,
    srt_transcript_text,
    vtt_transcript_text,
)
from diarize.transcripts.whisper import whisper_text

TURNS = [Turn(0.0, 2.0, "<ann>"), Turn(2.0, 5.0, "ben")]
SRT = """\
1
00:00:00,500 --> 00:00:01,500
- <i>Hello</i>
- you & me

2
00:00:02,000 --> 00:00:03,000
[SPEAKER_03]: Yes.
"""
VTT = """\
WEBVTT

NOTE kept

intro
00:00:00.500 --> 00:00:01.500 align:start
<i>Hello</i> you &amp; me

00:00:02.000 --> 00:00:03.000
<v SPEAKER_03>Yes.</v>
"""


def test_srt_gets_speakers_and_keeps_all_else() -> None:
    (transcript,) = parse_srt_transcript("x.srt", SRT, "x")
    first, second = srt.parse(srt_transcript_text(label(transcript, TURNS)))
    assert first.content == "[<ann>]: - <i>Hello</i>\n- you & me"
    assert second.content == "[ben]: Yes."
    assert second.start.total_seconds() == 2.0
    assert srt_transcript_text(label(transcript, [])).count("]:") == 0


def test_vtt_gets_voices_and_keeps_all_else() -> None:
    (transcript,) = parse_vtt_transcript("x.vtt", VTT, "x")
    text = vtt_transcript_text(label(transcript, TURNS))
    assert text == VTT.replace("<i>", "<v &lt;ann&gt;><i>").replace("me", "me</v>").replace(
        "SPEAKER_03", "ben"
    )
    assert [caption.voice for caption in webvtt.from_string(text)] == ["&lt;ann&gt;", "ben"]


def test_from_one_into_the_other() -> None:
    (transcript,) = parse_vtt_transcript("x.vtt", VTT, "x")
    first, _ = srt.parse(srt_transcript_text(label(transcript, TURNS)))
    assert first.content == "[<ann>]: Hello you & me"
    found = json.loads(whisper_text(transcript))["segments"]
    assert [sorted(segment) for segment in found] == [["end", "start", "text"]] * 2
    (transcript,) = parse_srt_transcript("x.srt", SRT, "x")
    assert "<v ben>Yes.</v>" in vtt_transcript_text(label(transcript, TURNS))


def test_words_divide_a_subtitle_and_none_is_without_length() -> None:
    words = (Word(1.0, 1.0, " Hi"), Word(2.5, 3.0, " you"))
    said = label(Transcript("x", (Passage(1.0, 3.0, " Hi you", words),)), TURNS)
    first, second = srt.parse(srt_transcript_text(said))
    assert (first.content, second.content) == ("[<ann>]: Hi", "[ben]: you")
    assert (first.end - first.start).total_seconds() == 0.001


def test_what_whisper_writes_without_words_has_no_blank_in_front() -> None:
    passage = Passage(0.0, 1.0, " Hello there.", speakers=("ann",))
    nobody = Passage(1.0, 2.0, " Yes.")
    transcript = Transcript("x", (passage, nobody))
    assert "\n[ann]: Hello there.\n" in srt_transcript_text(transcript)
    assert "\nYes.\n" in srt_transcript_text(transcript)
    assert "\n<v ann>Hello there.</v>\n" in vtt_transcript_text(transcript)
    assert "\nYes.\n" in vtt_transcript_text(transcript)
    # WhisperX aligns no numbers, and some words are empty.
    words = (Word(0, 1, "In "), Word(1, 1, " "), Word(1, 1, " 1999 "), Word(1, 2, "."))
    spoken = tuple(
        Word(w.start, w.end, w.text, (who,)) for w, who in zip(words, "aabb", strict=True)
    )
    divided = srt_transcript_text(Transcript("x", (Passage(0, 2, " In 1999.", spoken),)))
    assert "[a]: In\n" in divided and "[b]: 1999 .\n" in divided
