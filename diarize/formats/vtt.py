"""WebVTT, the subtitles of the web: a voice tag says who speaks."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

from pyannote.core import Annotation

from diarize.errors import InputError
from diarize.formats.cues import Cue, clock, parse_cues, shown_lines, warn_of_unnamed
from diarize.formats.lines import Source, name_line, read_text, stem_of
from diarize.formats.turns import Turn, written_turns

# A tag ends before the next begins: a file of tags without an end would take quadratic time.
_VOICE = re.compile(r"<v(?:\.[^\s<>]*)?[ \t\n]+([^<>]*)>")
_TAG = re.compile(r"<[^<>]*>")


def vtt_text(annotation: Annotation) -> str:
    """A cue for each turn, sorted by start, end and speaker; turns that overlap are cues that do.

    The name stands in a voice tag and, since players do not show that, as the text.
    """
    return write_vtt(
        Cue(turn.start, turn.end, spoken_vtt(turn.speaker, _escaped(name_line(turn.speaker))))
        for turn in written_turns(annotation)
    )


def write_vtt(cues: Iterable[Cue]) -> str:
    """The file of these cues, with the blocks between them."""
    blocks = ["WEBVTT"]
    for cue in cues:
        blocks += [block for block in cue.blocks if not block.startswith("WEBVTT")]
        times = f"{clock(cue.start, '.')} --> {clock(cue.end, '.')} {cue.settings}".rstrip()
        blocks.append("\n".join(filter(None, (cue.name, times, cue.text))))
    return "\n\n".join(blocks) + "\n"


def spoken_vtt(speaker: str, markup: str) -> str:
    """The text of a cue that `speaker` says; `markup` is what is said, escaped already."""
    return shown_lines(f"<v {_escaped(name_line(speaker))}>{markup}</v>")


def marked_up(text: str) -> str:
    """A plain text as one that can stand in a cue."""
    return _escaped(shown_lines(text))


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


def without_voices(markup: str) -> str:
    """The text of a cue without the tags that say who speaks."""
    return _VOICE.sub("", markup).replace("</v>", "").strip()


def plain_vtt(markup: str) -> str:
    """The text of a cue as it is shown."""
    return html.unescape(_TAG.sub("", markup))


def read_vtt(source: Source) -> dict[str, list[Turn]]:
    """The turns of a recording that is named as the file's stem: each voice of a cue is one.

    Raises:
        InputError: the file cannot be read, a time is wrong, or no cue has a voice.
    """
    name, text = read_text(source)
    cues = parse_vtt(name, text)
    turns = [
        Turn(cue.start, cue.end, name_line(html.unescape(voice)))
        for cue in cues
        for voice in dict.fromkeys(_VOICE.findall(cue.text))
    ]
    if cues and not turns:
        raise InputError(f"{name}: no cue says who speaks, as in '<v NAME>text'")
    warn_of_unnamed(name, cues, {(turn.start, turn.end) for turn in turns})
    return {stem_of(name): turns}


def parse_vtt(name: str, text: str) -> list[Cue]:
    """The cues of a file.

    Raises:
        InputError: a time is wrong, or this is no WebVTT.
    """
    if not re.match(r"WEBVTT([ \t\r\n]|$)", text):
        raise InputError(f"{name}: does not begin with WEBVTT")
    return parse_cues(name, text)
