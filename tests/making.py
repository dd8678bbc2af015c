"""Small things that many tests make: turns, unit vectors, a composition."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyannote.core import Annotation, Segment


def annotation(*turns: tuple[float, float, str], uri: str | None = "talk") -> Annotation:
    """Turns of a recording, from start to end (seconds), each on a track of its own."""
    made = Annotation(uri=uri)
    for track, (start, end, speaker) in enumerate(turns):
        made[Segment(start, end), track] = speaker
    return made


def turns_of(made: Annotation) -> list[tuple[float, float, str]]:
    """Start, end and speaker of each turn, to the millisecond."""
    return [
        (round(turn.start, 3), round(turn.end, 3), speaker)
        for turn, _, speaker in made.itertracks(yield_label=True)
    ]


def unit(values: np.ndarray) -> np.ndarray:
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def unit_mean(a: Any, b: Any) -> Any:
    """A symmetric g with unit vectors in and out; for numpy and torch alike."""
    total = a + b
    return total / ((total * total).sum(-1, keepdims=True)) ** 0.5
