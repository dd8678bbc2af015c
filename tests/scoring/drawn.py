"""Turns that speak in whole parts of a second, drawn and made."""

from __future__ import annotations

from hypothesis import strategies as st
from pyannote.core import Annotation

from ..making import annotation as made

Turns = list[tuple[str, int, int]]


def turns(
    names: str, latest: int = 60, longest: int = 25, most: int = 7
) -> st.SearchStrategy[Turns]:
    """Up to `most` turns, which begin by `latest`; in parts of a second."""
    turn = st.tuples(st.sampled_from(names), st.integers(0, latest), st.integers(1, longest))
    return st.lists(turn.map(lambda t: (t[0], t[1], t[1] + t[2])), max_size=most)


def annotation(given: list[tuple[str, float, float]], parts: int = 10) -> Annotation:
    """Turns whose times are so many parts of a second."""
    return made(*((start / parts, end / parts, speaker) for speaker, start, end in given))
