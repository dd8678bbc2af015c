"""Transcripts as subtitles: a cue is a passage, and says who speaks in it."""

from __future__ import annotations

from diarize.formats.cues import Cue
from diarize.formats.srt import parse_srt, split_srt, spoken_srt, write_srt
from diarize.formats.turns import milliseconds
from diarize.formats.vtt import (
    marked_up,
    parse_vtt,
    plain_vtt,
    spoken_vtt,
    without_voices,
    write_vtt,
)
from diarize.transcripts.passages import Passage, Transcript


def parse_srt_transcript(name: str, text: str, uri: str) -> list[Transcript]:
    """The cues of an SRT file, without the speakers that they may name; raises as `parse_srt`."""
    cues = parse_srt(name, text)
    passages = (Passage(cue.start, cue.end, split_srt(cue.text)[1]) for cue in cues)
    return [Transcript(uri, tuple(passages))]


def parse_vtt_transcript(name: str, text: str, uri: str) -> list[Transcript]:
    """The cues of a WebVTT file, without their voices; raises as `parse_vtt`."""
    passages = []
    for cue in parse_vtt(name, text):
        markup = without_voices(cue.text)
        own = {
            "markup": markup, "settings": cue.settings, "blocks": cue.blocks, "name": cue.name
        }  # fmt: skip
        passages.append(Passage(cue.start, cue.end, plain_vtt(markup), own=own))
    return [Transcript(uri, tuple(passages))]


def srt_transcript_text(transcript: Transcript) -> str:
    """A cue for each passage, divided where the speaker of its words changes."""
    return write_srt(
        Cue(start, end, spoken_srt(part.speakers[0], text) if part.speakers else text)
        for part, text, start, end in _parts(transcript)
    )


def vtt_transcript_text(transcript: Transcript) -> str:
    """A cue for each passage, divided where the speaker of its words changes.

    Markup, settings and names of a WebVTT file are kept, and notes and styles above a cue.
    """
    cues = []
    for part, text, start, end in _parts(transcript):
        own = part.own if "markup" in part.own else {}
        markup = own.get("markup") or marked_up(text)
        shown = spoken_vtt(part.speakers[0], markup) if part.speakers else markup
        said = {key: own[key] for key in ("settings", "blocks", "name") if key in own}
        cues.append(Cue(start, end, shown, **said))
    return write_vtt(cues)


def _parts(transcript: Transcript) -> list[tuple[Passage, str, float, float]]:
    """What becomes a cue, its text, and its times in whole milliseconds, at least one."""
    parts = []
    for part in transcript.by_speaker():
        start = milliseconds(part.start)
        end = max(milliseconds(part.end), start + 1)
        # Whisper's texts begin with a blank.
        parts.append((part, part.text.strip(), start / 1000, end / 1000))
    return parts
