"""SRT, the subtitles that every player knows: ``[NAME]:`` before the text says who speaks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from pyannote.core import Annotation

from diarize.errors import InputError
from diarize.formats.cues import Cue, clock, parse_blocks, shown_lines, warn_of_unnamed
from diarize.formats.lines import Source, name_line, read_text, stem_of
from diarize.formats.turns import Turn, written_turns

_SPEAKER = re.compile(r"\[([^\[\]\n]+)\]:[ \t]*")
_BRACKETS = str.maketrans("[]", "()")  # those of a name would end it too early


def srt_text(annotation: Annotation) -> str:
    """A cue for each turn, sorted by start, end and speaker; turns that overlap are cues that do.

    SRT has no escapes: in a name square brackets become round ones, and ``-->`` becomes ``->``.
    """
    return write_srt(
        Cue(turn.start, turn.end, spoken_srt(turn.speaker, ""))
        for turn in written_turns(annotation)
    )


def write_srt(cues: Iterable[Cue]) -> str:
    """The file of these cues, numbered from 1."""
    return "\n".join(
        f"{number}\n{clock(cue.start, ',')} --> {clock(cue.end, ',')}\n{cue.text}\n"
        for number, cue in enumerate(cues, start=1)
    )


def spoken_srt(speaker: str, text: str) -> str:
    """The text of a cue that `speaker` says; it says who speaks and, where it is empty, no more."""
    name = name_line(speaker).translate(_BRACKETS)
    return shown_lines(f"[{name}]: {text}".replace("-->", "->"))


def split_srt(text: str) -> tuple[str | None, str]:
    """Who speaks, None if the text of a cue does not say, and what is said."""
    match = _SPEAKER.match(text)
    return (match[1], text[match.end() :]) if match else (None, text)


def read_srt(source: Source) -> dict[str, list[Turn]]:
    """The turns of a recording that is named as the file's stem: a cue that names a speaker is one.

    Raises:
        InputError: the file cannot be read, a time is wrong, or no cue names a speaker.
    """
    name, text = read_text(source)
    cues = parse_srt(name, text)
    turns = [
        Turn(cue.start, cue.end, speaker)
        for cue in cues
        if (speaker := split_srt(cue.text)[0]) is not None
    ]
    if cues and not turns:
        raise InputError(f"{name}: no subtitle begins with its speaker, as in '[NAME]: text'")
    warn_of_unnamed(name, cues, {(turn.start, turn.end) for turn in turns})
    return {stem_of(name): turns}


def parse_srt(name: str, text: str) -> list[Cue]:
    """The cues of a file; text behind a blank line, without times, is of the cue before it.

    Raises:
        InputError: a time is wrong, or this is no SRT.
    """
    cues: list[Cue] = []
    for block in parse_blocks(name, text):
        if isinstance(block, Cue):
            cues.append(block)
        elif cues and not block.strip().isdecimal():  # a number is that of a cue without times
            said = "\n".join(filter(None, (cues[-1].text, block)))
            cues[-1] = replace(cues[-1], text=said)
    if text.strip() and not cues:
        raise InputError(f"{name}: no subtitles in this file")
    return cues
