"""Transcripts for people to read: a paragraph for whoever speaks, with name and time."""

from __future__ import annotations

import re
from collections.abc import Iterator

from diarize.formats.lines import name_line
from diarize.transcripts.passages import Transcript

LONGEST = 60.0  # seconds of one speaker after which a new paragraph shows the time again
_TAGS = re.compile(r"</?(?:i|b|u|s|font)\b[^<>]*>", re.IGNORECASE)  # of subtitles
_MARKS = re.compile(r"([\\`*_\[\]<>])")  # of Markdown, wherever they stand in a line


def plain_text(transcript: Transcript) -> str:
    """``[0:00:12] NAME: what is said``, a paragraph each, divided by blank lines."""
    return "\n".join(
        f"[{_clock(start)}] {f'{name}: ' if name else ''}{text}\n"
        for start, name, text in _paragraphs(transcript)
    )


def markdown_text(transcript: Transcript) -> str:
    """``**NAME** (0:00:12): what is said``, a paragraph each, under the recording's name."""
    lines = [f"# {_escaped(transcript.uri)}\n"]
    for start, name, text in _paragraphs(transcript):
        who = f"**{_escaped(name)}** " if name else ""
        lines.append(f"{who}({_clock(start)}): {_escaped(text)}\n")
    return "\n".join(lines)


def _paragraphs(transcript: Transcript) -> Iterator[tuple[float, str, str]]:
    """Start, speaker ("": nobody is named) and text of what one speaker says on end."""
    begun: tuple[float, str] | None = None
    said: list[str] = []
    for part in transcript.by_speaker():
        if not part.text.strip():
            continue
        name = name_line(part.speakers[0]) if part.speakers else ""
        if begun is not None and (name != begun[1] or part.start - begun[0] >= LONGEST):
            yield *begun, " ".join(said)
            begun, said = None, []
        begun = begun or (part.start, name)
        said.append(" ".join(_TAGS.sub("", part.text).split()))
    if begun is not None:
        yield *begun, " ".join(said)


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", text)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}"
