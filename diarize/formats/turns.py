"""Turns as the formats write them: to the millisecond."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from pyannote.core import Annotation, Segment

_MS = 1000  # per second


class Turn(NamedTuple):
    """A turn from `start` to `end`, seconds, both whole milliseconds.

    `confidence` is the probability that the speaker is right, None where it is not known.
    """

    start: float
    end: float
    speaker: str
    confidence: float | None = None


def written_turns(
    annotation: Annotation, confidence: Mapping[tuple[Segment, Any], float] | None = None
) -> list[Turn]:
    """All turns of at least one millisecond, sorted by start, end and speaker.

    Boundaries are rounded each for itself, so that turns that touch still touch. `confidence` is
    that of segments and tracks of the annotation.
    """
    sure = confidence or {}
    turns = []
    for segment, track, speaker in annotation.itertracks(yield_label=True):
        if segment.duration < 1 / _MS - 1e-9:  # 1e-9: what floating point takes off a millisecond
            continue
        start = _milliseconds(float(segment.start))
        end = max(_milliseconds(float(segment.end)), start + 1)
        turns.append(Turn(start / _MS, end / _MS, str(speaker), sure.get((segment, track))))
    return sorted(turns, key=lambda turn: turn[:3])


def _milliseconds(time: float) -> int:
    # Half up, not half to even: a duration of whole milliseconds then keeps its length.
    return math.floor(time * _MS + 0.5)
