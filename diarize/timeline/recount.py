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
from diarize.voices.number import doubts

SECOND_OPINION = "cap"
"""The backend that is asked where a speaker is in doubt: it hardly ever finds one person twice."""
FEW = 6
"""Speakers up to which it is asked: among many it loses those who say little."""

NOBODY_NEW = 0.6
"""Probability that a speaker is one of those who talk more, from which on there is one fewer."""
IF_AGREED = 0.4
"""The same where the second opinion is that there are fewer. Both were chosen on conversations and
replays with voices of dev-a."""


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
        second: fits another clustering, for a second opinion on the number; None: there is none.

    Returns:
        The last one that was fitted, and who speaks when by it.
    """
    estimator = fit(None)
    found = decoded(estimator)
    if estimator.scatter is None or estimator.scatter.alike is None:
        return estimator, found
    other: int | None = None  # speakers by the second opinion, once it was asked
    while (n_found := len(found.names)) > max(least, 1):
        chance = _anybody_again(found, likeness)
        if chance < NOBODY_NEW:
            if chance < IF_AGREED or n_found > FEW or second is None:
                break
            if other is None:
                other = len(decoded(second(None)).names)
            if other >= n_found:
                break
        estimator = fit(n_found - 1)
        found = decoded(estimator)
    return estimator, found


def _anybody_again(found: Decoded, likeness: Likeness) -> float:
    """Largest probability of a speaker that he is nobody new."""
    doubted = doubts(found.annotation(""), found.trellis.cells, found.trellis.vectors, likeness)
    return float(doubted.again.max(initial=0.0))
