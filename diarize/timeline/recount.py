"""Fewer speakers, where those found are very probably too many: the clustering's number, doubted.

A clustering sees windows, and one voice that is heard for long, or in two moods, may lie there like
two. Turns tell more: how much each speaker says alone, and how alike he is to those who say more
(`diarize.voices.number`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from diarize.scatter import Likeness
from diarize.timeline.decoding import Decoded
from diarize.voices.number import doubts, probabilities

TOO_MANY = 0.75
"""Probability that there are fewer, from which on they are clustered anew. Of recordings of dev-a
with two to ten people, each that came above it had too many; from a half on, as many lost one."""


def recounted(
    fit: Callable[[int | None], Any],
    decoded: Callable[[Any], Decoded],
    likeness: Likeness,
    low: int = 1,
    high: int | None = None,
) -> Any:
    """Fit a clustering; again, into the likeliest smaller number, while there are too many.

    Where nobody says from which cosine on two voices are alike, as in a narrow band, in which near
    centroids may be two voices, it stays as it is.

    Args:
        fit: fits into so many speakers; None: into as many as it infers.
        decoded: who speaks when, by a fitted one.
        likeness: of the embedding.
        low: least number that is told.
        high: largest number that is told; None: none is.
    """
    estimator = fit(None)
    if estimator.scatter is None or estimator.scatter.alike is None:
        return estimator
    while (fewer := _fewer(decoded(estimator), likeness, low, high)) is not None:
        estimator = fit(fewer)
    return estimator


def _fewer(found: Decoded, likeness: Likeness, low: int, high: int | None) -> int | None:
    """How many speakers there are rather, if that is very probable."""
    annotation = found.annotation("")
    n_found = len(annotation.labels())
    if n_found < 2:
        return None
    doubted = doubts(annotation, found.trellis.cells, found.trellis.vectors, likeness)
    below = {n: p for n, p in probabilities(doubted, low, high).items() if n < n_found}
    return max(below, key=below.__getitem__) if sum(below.values()) >= TOO_MANY else None
