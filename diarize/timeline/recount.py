"""Fewer speakers, where somebody is very probably nobody new: the clustering's number, doubted.

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

NOBODY_NEW = 0.8
"""Probability that a speaker is one of those who talk more, and stands for nobody else, from which
on there is one speaker fewer, if a smaller number is also more probable than not. It came so far in
five of 132 recordings of one to ten people, simulated and real, and each had too many; without the
second condition three more lost a speaker whom they had, at 0.7 as many."""

SECOND_OPINION = "cap"
"""The backend that has the word on the number where it finds fewer than few."""
FEW = 4
"""Speakers up to which it has. Of 101 conversations of one to ten people `ckm` counts 61 right with
it, and 55 without; up to 5 or 6, those who say little in a minute or two are lost."""


def recounted(
    fit: Callable[[int | None], Any],
    decoded: Callable[[Any], Decoded],
    likeness: Likeness,
    least: int = 0,
    second: Callable[[int | None], Any] | None = None,
) -> tuple[Any, Decoded]:
    """Fit a clustering; again, into one speaker fewer, while somebody is very probably nobody new.

    Where nobody says from which cosine on two voices are alike, as in a narrow band, in which near
    centroids may be two voices, it stays as it is.

    Args:
        fit: fits into so many speakers; None: into as many as it infers.
        decoded: who speaks when, by a fitted one.
        likeness: of the embedding.
        least: fewest speakers that are told; one is left in any case.
        second: fits another clustering, which has a word where few are found; None: none has.

    Returns:
        The last one that was fitted, and who speaks when by it.
    """
    estimator = fit(None)
    found = decoded(estimator)
    if estimator.scatter is None or estimator.scatter.alike is None:
        return estimator, found
    if second is not None and 1 < len(found.names) <= FEW:
        fewer = max(len(recounted(second, decoded, likeness, least)[1].names), least, 1)
        if fewer < len(found.names):
            estimator = fit(fewer)
            found = decoded(estimator)
    while (fewer := _fewer(found, likeness)) >= max(least, 1):
        estimator = fit(fewer)
        found = decoded(estimator)
    return estimator, found


def _fewer(found: Decoded, likeness: Likeness) -> int:
    """One less than were found, if somebody is very probably nobody new; else 0."""
    doubted = doubts(found.annotation(""), found.trellis.cells, found.trellis.vectors, likeness)
    gone = doubted.again * (1 - doubted.hides)
    n_found = len(gone)
    number = probabilities(doubted, clustered=0.0)  # it was wrong before if it is wrong now
    below = sum(chance for n, chance in number.items() if n < n_found)
    return n_found - 1 if gone.max(initial=0.0) >= NOBODY_NEW and below > 0.5 else 0
