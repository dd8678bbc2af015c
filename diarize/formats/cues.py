"""Cues, which SRT and WebVTT are made of: a text, and the time for which it is shown."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from diarize.formats.lines import MAX_SECONDS, blaming, in_order, name_line, split_lines

# 1:02:03,456 or 02:03.456; people write both marks into both formats.
_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{1,2})(?:[.,](\d{1,3}))?"
_TIMING = re.compile(rf"\s*{_TIME}\s*-->\s*{_TIME}(?:\s+(.*))?", re.ASCII)


@dataclass(frozen=True)
class Cue:
    """A text that is shown from `start` to `end`, seconds, as the file has it.

    Attributes:
        start: when it appears.
        end: when it disappears.
        text: its lines, markup and all.
        settings: what follows the times on their line (WebVTT: where it stands).
        blocks: what precedes it in the file and is no cue (WebVTT: notes, styles).
        name: the line above its times, a number in SRT.
    """

    start: float
    end: float
    text: str
    settings: str = ""
    blocks: tuple[str, ...] = ()
    name: str = ""


def parse_cues(name: str, text: str) -> list[Cue]:
    """The cues of a file; a blank line ends a cue.

    Raises:
        InputError: times that cannot be; names file, line and reason.
    """
    cues: list[Cue] = []
    others: list[str] = []
    for block in parse_blocks(name, text):
        if isinstance(block, str):
            others.append(block)
        else:
            cues.append(replace(block, blocks=tuple(others)))
            others = []
    return cues


def parse_blocks(name: str, text: str) -> Iterator[Cue | str]:
    """What blank lines divide in a file: cues, and the text of what has no times.

    Raises:
        InputError: as `parse_cues`.
    """
    lines = split_lines(text)
    begin = 0
    while begin < len(lines):
        end = begin
        while end < len(lines) and lines[end].strip():
            end += 1
        block = lines[begin:end]
        # The times stand on the first line, or below a number or name of the cue.
        timing = next((n for n, line in enumerate(block[:2]) if "-->" in line), None)
        if timing is None:
            if block:
                yield "\n".join(block)
        else:
            with blaming(f"{name}, line {begin + timing + 1}"):
                start, stop, settings = _times(block[timing])
            shown = "\n".join(block[timing + 1 :])
            yield Cue(start, stop, shown, settings, name="\n".join(block[:timing]))
        begin = end + 1


def _times(line: str) -> tuple[float, float, str]:
    match = _TIMING.fullmatch(line)
    if match is None:
        raise ValueError("not two times with --> between them")
    *fields, settings = match.groups()
    start, end = in_order(_seconds(*fields[:4]), _seconds(*fields[4:]))
    return start, end, (settings or "").strip()


def _seconds(hours: str | None, minutes: str, seconds: str, fraction: str | None) -> float:
    # A fraction of less than three digits is one of a second all the same: 1,5 is 1.500.
    whole = int((hours or "0")[-12:]) * 3600 + int(minutes) * 60 + int(seconds)
    if whole > MAX_SECONDS:
        raise ValueError(f"{whole} seconds are beyond all reason")
    return whole + int((fraction or "0").ljust(3, "0")) / 1000


def warn_of_unnamed(name: str, cues: Sequence[Cue], named: Collection[tuple[float, float]]) -> None:
    """Say how many cues name nobody, and so are left out."""
    n_unnamed = sum((cue.start, cue.end) not in named for cue in cues)
    if n_unnamed:
        warnings.warn(
            f"{name}: {n_unnamed} of {len(cues)} subtitles do not say who speaks, and are left out",
            stacklevel=2,
        )


def clock(seconds: float, mark: str) -> str:
    """Hours, minutes, seconds and thousandths; `mark` divides the latter."""
    milliseconds = round(seconds * 1000)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02d}:{minutes:02d}:{milliseconds // 1000:02d}{mark}{milliseconds % 1000:03d}"


def shown_lines(text: str) -> str:
    """`text` without blank lines, which would end its cue, and without controls."""
    lines = [name_line(line) for line in text.splitlines() if line.strip()]
    return "\n".join(lines)
