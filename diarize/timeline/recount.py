"""Fewer speakers, where somebody is nobody new: the clustering's number, doubted.

A clustering sees windows, and one voice that is heard for long, or in two moods, may lie there like
two, and two voices that are heard together a few times like a third. Turns tell more: how much each
speaker says alone, how alike he is to those who say more (`diarize.voices.number`), and how many
are heard while he speaks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from diarize.scatter import Likeness
from diarize.sets import SpeakerSets, enumerate_sets
from diarize.timeline.decoding import Decoded
from diarize.voices.number import doubts

NOBODY_NEW = 0.6
"""Probability that a speaker is one of those who talk more, from which on there is one fewer."""

TOGETHER, COMPOSED = 0.5, 0.65
"""Nobody is whose windows hold two voices: that several speak while he does has this probability on
average, and he has this cosine with what g makes of two others. All of these were chosen on
conversations with voices of dev-a."""


def recounted(
    fit: Callable[[int | None], Any],
    decoded: Callable[[Any], Decoded],
    likeness: Likeness,
    least: int = 0,
) -> tuple[Any, Decoded]:
    """Fit a clustering; again, into one speaker fewer, while somebody is nobody new.

    Where nobody says from which cosine on two voices are alike, as in a narrow band, in which near
    centroids may be two voices, it stays as it is.

    Args:
        fit: fits into so many speakers, or into as many as it infers (None).
        decoded: who speaks when, by a fitted one.
        likeness: of the embedding.
        least: fewest speakers that are told; one is left in any case.

    Returns:
        The last one that was fitted, and who speaks when by it.
    """
    estimator = fit(None)
    found = decoded(estimator)
    if estimator.scatter is None or estimator.scatter.alike is None:
        return estimator, found
    composes = estimator.compose is not None
    while len(found.names) > max(least, 1) and _somebody_is_nobody(found, likeness, composes):
        estimator = fit(len(found.names) - 1)
        found = decoded(estimator)
    return estimator, found


def _somebody_is_nobody(found: Decoded, likeness: Likeness, composes: bool) -> bool:
    """Whether a speaker is very probably one of the others, or, where g says it, two at once."""
    if (doubts(found.monologues, likeness).again >= NOBODY_NEW).any():
        return True
    return composes and _is_two_others(found)


def _is_two_others(found: Decoded) -> bool:
    """Whether a speaker's windows are those in which two others speak at once."""
    trellis, said = found.trellis, found.monologues
    if trellis.counts is None or len(found.names) < 3:
        return False
    shares = trellis.counts.mean(trellis.counts.overlap[:, None], trellis.cells)[:, 0]  # (n,)
    together = said.weights @ shares >= TOGETHER * said.seconds  # (k,)
    if not together.any():
        return False
    pairs = enumerate_sets(len(said.names), 2)[len(said.names) :]  # (m, k)
    places = replace(found.speakers, centroids=said.centroids).places(SpeakerSets(pairs))  # (m, p)
    near = np.where(pairs.T, -1.0, said.centroids @ places.T).max(axis=1)  # (k,)
    return bool((together & (near >= COMPOSED)).any())
