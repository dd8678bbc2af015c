"""What a stream says: who spoke from when to when, and how that looks as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

if TYPE_CHECKING:
    from pyannote.core import Annotation

Name = TypeVar("Name")


class Turn(NamedTuple):
    """A stretch of time in which the same speakers speak.

    Attributes:
        start, end: seconds from the beginning of the stream.
        speakers: names, ascending.
        final: False: said while it was spoken, and may be settled otherwise; True: settled.
    """

    start: float
    end: float
    speakers: tuple[str, ...]
    final: bool


def by_sets(
    found: Iterable[tuple[float, float, Name]], begin: float, end: float
) -> Iterator[tuple[float, float, frozenset[Name]]]:
    """Cut speakers' turns into stretches of one set each, between two times."""
    clipped = [(max(b, begin), min(e, end), name) for b, e, name in found]
    clipped = [(b, e, name) for b, e, name in clipped if e > b]
    borders = sorted({time for b, e, _ in clipped for time in (b, e)})
    starting: dict[float, list[int]] = {}
    for i, (b, _, _) in enumerate(clipped):
        starting.setdefault(b, []).append(i)
    speaking: set[int] = set()
    last: tuple[float, float, frozenset[Name]] | None = None
    for b, e in pairwise(borders):
        speaking = {i for i in speaking if clipped[i][1] > b} | set(starting.get(b, ()))
        names = frozenset(clipped[i][2] for i in speaking)
        if last is not None and last[1] == b and last[2] == names:
            last = (last[0], e, names)
            continue
        if last is not None:
            yield last
        last = (b, e, names) if names else None
    if last is not None:
        yield last


def annotation_of(
    stretches: Iterable[tuple[float, float, Collection[str]]], uri: str
) -> Annotation:
    """Turns of each speaker, joined where one goes on while others come and go.

    Each track is named as its speaker.
    """
    from pyannote.core import Annotation, Segment

    pieces, joined = Annotation(), Annotation(uri=uri)
    for begin, end, speakers in stretches:
        for name in speakers:
            pieces[Segment(begin, end), name] = name
    for segment, _, name in pieces.support().itertracks(yield_label=True):
        joined[segment, name] = name
    return joined


def lines_of(turns: Sequence[Turn]) -> Iterator[str]:
    """One object for each turn of a millisecond or more."""
    for turn in turns:
        start, end = round(turn.start, 3), round(turn.end, 3)
        if end > start:
            line = {"start": start, "end": end, "speakers": turn.speakers, "final": turn.final}
            yield json.dumps(line)


def merged_line(names: Mapping[str, str]) -> str:
    """Which live names are one with another from now on."""
    return json.dumps({"merged": names})


def map_line(names: Mapping[str, str | None]) -> str:
    """Which final speaker each live one is."""
    return json.dumps({"map": names})
