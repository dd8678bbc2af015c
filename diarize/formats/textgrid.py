"""TextGrid, Praat's format: a tier of intervals for each speaker."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyannote.core import Annotation

from diarize.errors import InputError
from diarize.formats.lines import NUMBER, Source, name_line, read_text, seconds, stem_of, times
from diarize.formats.turns import Turn, milliseconds, written_tiers

# As Praat reads: a text in quotes (two of them are one), or what stands between blanks; from an
# exclamation mark that stands alone on, the rest of a line is a comment.
_TOKEN = re.compile(r'"((?:[^"]|"")*)"|(?<!\S)!.*|(\S+)')


def textgrid_text(annotation: Annotation, recording_end: float | None = None) -> str:
    """A tier of intervals for each speaker, by first appearance, in Praat's long text format.

    An interval in which the speaker speaks has the speaker's name as its label, the others none;
    turns in which a speaker overlaps himself become one. The grid ends with the recording; where
    that is not known with the last turn, or after a second where nobody speaks. There is then one
    tier without name.
    """
    tiers = written_tiers(annotation)
    ends = [turns[-1].end for turns in tiers.values()]
    if recording_end is not None:
        ends.append(milliseconds(recording_end) / 1000)
    end = max(ends, default=1.0)
    lines = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "xmin = 0",
        f"xmax = {end:.3f}",
        "tiers? <exists>",
        f"size = {len(tiers) or 1}",
        "item []:",
    ]
    for number, (speaker, turns) in enumerate((tiers or {"": []}).items(), start=1):
        lines += _tier(number, speaker, turns, end)
    return "\n".join(lines) + "\n"


def _tier(number: int, speaker: str, turns: list[Turn], end: float) -> list[str]:
    intervals = []
    at = 0.0
    for turn in turns:
        if turn.start > at:
            intervals.append((at, turn.start, ""))
        intervals.append((turn.start, turn.end, speaker))
        at = turn.end
    if at < end:
        intervals.append((at, end, ""))
    lines = [
        f"    item [{number}]:",
        '        class = "IntervalTier"',
        f"        name = {_quoted(speaker)}",
        "        xmin = 0",
        f"        xmax = {end:.3f}",
        f"        intervals: size = {len(intervals)}",
    ]
    for index, (start, stop, label) in enumerate(intervals, start=1):
        lines += [
            f"        intervals [{index}]:",
            f"            xmin = {start:.3f}",
            f"            xmax = {stop:.3f}",
            f"            text = {_quoted(label)}",
        ]
    return lines


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def read_textgrid(source: Source) -> dict[str, list[Turn]]:
    """The turns of a recording that is named as the file's stem, from the long or short format.

    UTF-8, or UTF-16 as Praat writes it. Each tier of intervals is a speaker, who speaks where an
    interval has a label, whatever it says; tiers of points are passed over.

    Raises:
        InputError: the file cannot be read, is no TextGrid of text, or ends too early.
    """
    name, text = read_text(source)
    values = _values(text)
    if not next(values, "").startswith("ooTextFile") or next(values, "") != "TextGrid":
        raise InputError(f"{name}: not a TextGrid in Praat's text format")
    try:
        turns = _turns(values)
    except StopIteration:
        raise InputError(f"{name}: is cut off") from None
    except ValueError as error:
        raise InputError(f"{name}: not a readable TextGrid: {error}") from None
    return {stem_of(name): sorted(turns)}


def _values(text: str) -> Iterator[str]:
    """Texts, numbers and flags, which are all that Praat looks at."""
    for match in _TOKEN.finditer(text):
        quoted, bare = match.groups()
        if quoted is not None:
            yield quoted.replace('""', '"')
        elif bare and (NUMBER.fullmatch(bare) or bare in {"<exists>", "<absent>"}):
            yield bare


def _turns(values: Iterator[str]) -> list[Turn]:
    turns: list[Turn] = []
    for _ in range(2):  # the times that the grid spans
        seconds(next(values), "a time")
    if next(values) != "<exists>":
        return turns
    for _ in range(_count(next(values))):
        kind, name = next(values), next(values)
        next(values), next(values)  # the times that the tier spans
        size = next(values)
        if kind == "TextTier":
            for _ in range(2 * _count(size)):
                next(values)
            continue
        for _ in range(_count(size)):
            start, end = times(next(values), next(values))
            if next(values).strip():
                turns.append(Turn(start, end, name_line(name)))
    return turns


def _count(text: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{text!r} is no count")
    return int(text)
