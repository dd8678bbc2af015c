"""Turns as the formats write them, to the millisecond, and as they read them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pyannote.core import Annotation, Segment

from diarize.formats.lines import name_line

Confidence: TypeAlias = Mapping[tuple[Segment, Any], float]
"""The probability that its speaker is right, of each segment and track of an annotation."""

T = TypeVar("T")

_MS = 1000  # per second


class Turn(NamedTuple):
    """A turn from `start` to `end`, seconds; both are whole milliseconds where they are written.

    `confidence` is the probability that the speaker is right, None where it is not known.
    """

    start: float
    end: float
    speaker: str
    confidence: float | None = None


@dataclass(frozen=True)
class Beside:
    """What is known of a recording beside its turns.

    Attributes:
        notes: what a person should know of how the turns were found.
        end: seconds at which the recording ends; None: not known.
        media: its file; None: there is none, or it is not known.
        home: the folder that the turns are written into; None: not known.
        number: how probable each number of speakers is; None: nobody says.
        several: begin and end, seconds, of where several were heard at once, be it known who or
            not; None: nobody listened for that.
    """

    notes: tuple[str, ...] = ()
    end: float | None = None
    media: Path | None = None
    home: Path | None = None
    number: Mapping[int, float] | None = None
    several: Sequence[Sequence[float]] | None = None


def written_turns(annotation: Annotation, confidence: Confidence | None = None) -> list[Turn]:
    """All turns of at least one millisecond, sorted by start, end and speaker.

    Boundaries are rounded each for itself, so that turns that touch still touch; what lies before 0
    is left out. `confidence` is that of segments and tracks of the annotation.
    """
    sure = confidence or {}
    turns = []
    for segment, track, speaker in annotation.itertracks(yield_label=True):
        if segment.duration < 1 / _MS - 1e-9:  # 1e-9: what floating point takes off a millisecond
            continue
        start = milliseconds(float(segment.start))
        end = max(milliseconds(float(segment.end)), start + 1)
        start = max(start, 0)
        if end <= start:
            continue
        turns.append(Turn(start / _MS, end / _MS, str(speaker), sure.get((segment, track))))
    return sorted(turns, key=lambda turn: turn[:3])


def written_tiers(annotation: Annotation) -> dict[str, list[Turn]]:
    """The turns of `written_turns` by speaker, in order of appearance, disjoint in each tier.

    Tiers are told apart by the speaker's name on one line. Turns in which a speaker overlaps
    himself become one; those that only touch stay apart.
    """
    tiers: dict[str, list[Turn]] = {}
    for start, end, name, _ in written_turns(annotation):
        speaker = name_line(name)
        tier = tiers.setdefault(speaker, [])
        if tier and start < tier[-1].end:
            tier[-1] = Turn(tier[-1].start, max(tier[-1].end, end), speaker)
        else:
            tier.append(Turn(start, end, speaker))
    return dict(sorted(tiers.items(), key=lambda item: item[1][0][:3]))


def annotated(
    turns: Iterable[Turn], uri: str | None, *, by_speaker: bool = False
) -> tuple[Annotation, Confidence]:
    """The annotation that holds the turns, and the confidence of those that have one.

    Turns without length are passed over. Tracks are numbers, or the speakers where each has one
    turn at a time.
    """
    annotation = Annotation(uri=uri)
    confidence = {}
    for number, turn in enumerate(turns):
        track = turn.speaker if by_speaker else number
        segment = Segment(turn.start, turn.end)
        if segment:
            annotation[segment, track] = turn.speaker
            if turn.confidence is not None:
                confidence[segment, track] = turn.confidence
    return annotation, confidence


def exclusive(turns: Iterable[Turn]) -> list[Turn]:
    """The turns without overlap: an instant belongs to the speaker whose turn began first.

    Of turns that begin together the longer comes first, then the speaker whose name does. So a
    word thrown in while somebody else goes on is left out, and who interrupts has the floor once
    the other has ended.
    """
    alone = []
    taken = 0.0  # until when
    for turn in sorted(turns, key=lambda turn: (turn.start, -turn.end, turn.speaker)):
        if turn.end > taken:
            alone.append(turn._replace(start=max(turn.start, taken)))
            taken = turn.end
    return alone


def turns_of(found: Mapping[str, T], uri: str) -> T | None:
    """The turns of a recording: its own, or the only ones that there are; None: neither."""
    if uri not in found and len(found) == 1:
        return next(iter(found.values()))
    return found.get(uri)


def milliseconds(time: float) -> int:
    """A time as whole milliseconds."""
    # Half up, not half to even: a duration of whole milliseconds then keeps its length.
    return math.floor(time * _MS + 0.5)
