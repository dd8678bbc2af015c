"""Fewer speakers, where somebody is nobody new: the clustering's number, doubted.

A clustering sees windows, and one voice that is heard for long, or in two moods, may lie there like
two, and two voices that are heard together a few times like a third. Turns tell more: how much each
speaker says, how alike he is to those who say more (`diarize.voices.number`), and how many are
heard while he speaks. Who is nobody new leaves, and what he said is decoded among the others.

Where more people are told than can be told apart, as many are found all the same. A half of one
voice, which a cluster would be, is none of these, and takes half of what a person says; so it is
the window least like its speaker that is taken for somebody else's.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Float64

from diarize.scatter import Likeness
from diarize.sets import SpeakerSets, enumerate_sets
from diarize.timeline.decoding import Decoded
from diarize.voices.number import Doubts, doubts, fewer, within

MORE = 2  # speakers beyond those that there may be at most

NOBODY_NEW = 0.5
"""Probability that a speaker is one of those who talk more, from which on there is one fewer."""

TOLD, IN_ALL = 0.9, 1.0
"""The same where so many were told, since who tells of a speaker is right as a rule, and how many
of them may be expected to be nobody new, before the likeliest leaves all the same."""

FEWER = 0.8
"""Probability that there are fewer than were told, from which on those stay whole who are found if
nobody tells how many."""

FEW = 10  # windows that are tried for somebody who is missing

TOGETHER, COMPOSED = 0.5, 0.65
"""Nobody is whose windows hold two voices: that several speak while he does has this probability on
average, and he has this cosine with what g makes of two others. All of these were chosen on
conversations with voices of dev-a."""


def recounted(
    estimator: Any,
    windows: Float[np.ndarray, "n p"],
    decoded: Callable[[Any], Decoded],
    likeness: Likeness,
) -> tuple[Any, Decoded]:
    """Fit a clustering, and let one speaker after the other leave, while somebody is nobody new.

    Where it is told how many there are at most, `MORE` are looked for, since turns tell better than
    windows who is to leave; where it is told how many there are at least, that counts for whoever
    is doubted, and where too few are left, somebody is heard in what is least like its speaker.
    Where, by their own doubts, there are probably fewer than were told, those stay whole who are
    found if nobody tells how many, and whoever is missing is heard in that way, too. Where nobody
    says from which cosine on two voices are alike, nobody leaves.

    Args:
        estimator: not fitted yet; what it is told of the number of speakers holds.
        windows: that are clustered.
        decoded: who speaks when, by a fitted one.
        likeness: of the embedding.

    Returns:
        The clustering into those who stay, and who speaks when by it.
    """
    if not len(windows) or estimator.scatter is None:
        return estimator.fit(windows), decoded(estimator)
    low = estimator.n_speakers or estimator.min_speakers or 1
    high = estimator.n_speakers or estimator.max_speakers or len(windows)
    heard = _Heard(windows, decoded, likeness)
    estimator, found = heard.left(estimator, low, high)
    if low > 1 and found.names and fewer(doubts(found.monologues, likeness)) >= FEWER:
        untold = copy(estimator)
        untold.set_params(n_speakers=None, min_speakers=None, max_speakers=high)
        _, those = heard.left(untold, 1, high)
        if 0 < len(those.names) < low:
            filled = heard.filled(estimator, those, low)
            if len(filled[1].names) >= low:
                return filled
    return estimator, found


@dataclass(frozen=True)
class _Heard:
    """What is heard of a recording; attributes as the arguments of `recounted`."""

    windows: Float[np.ndarray, "n p"]
    decoded: Callable[[Any], Decoded]
    likeness: Likeness

    def among(self, estimator: Any, centroids: Float64[np.ndarray, "k p"]) -> tuple[Any, Decoded]:
        """The clustering with speakers who lie there, and who speaks when by it."""
        moved = estimator.moved_to(self.windows, centroids)
        return moved, self.decoded(moved)

    def left(self, estimator: Any, low: int, high: int) -> tuple[Any, Decoded]:
        """Fit it, and let leave who is nobody new; from `low` to `high` speakers stay."""
        if estimator.scatter.alike is None:
            return estimator.fit(self.windows), self.decoded(estimator)
        told, most = estimator.n_speakers, estimator.max_speakers
        composes = estimator.compose is not None
        estimator.ask_for_more(len(self.windows), MORE)
        found = self.decoded(estimator.fit(self.windows))
        estimator.set_params(n_speakers=told, max_speakers=most)
        if not found.names:
            return estimator, found
        enough = None
        while (who := _nobody(found, self.likeness, composes, low, high)) is not None:
            if low <= len(found.names) <= high:
                enough = estimator, found
            others = np.delete(found.monologues.centroids, who, axis=0)
            estimator, found = self.among(estimator, others)
        if estimator.n_speakers_ > high:  # somebody has no turn
            estimator, found = self.among(estimator, found.monologues.centroids)
        filled = self.filled(estimator, found, low)
        return enough if enough and len(filled[1].names) < low else filled

    def filled(self, estimator: Any, found: Decoded, low: int) -> tuple[Any, Decoded]:
        """Hear somebody in what is least like its speaker, until there are `low`, or no more."""
        while (k := len(found.names)) < low:
            for window in _strangest(found):
                centroids = np.concatenate([found.monologues.centroids, window[None]])
                fuller = self.among(estimator, centroids)
                if len(fuller[1].names) > k:
                    break
            else:  # no more is said
                break
            estimator, found = fuller
        return estimator, found


def nobody_else(doubted: Doubts) -> list[str]:
    """A note on speakers who are there since so many were told, if there are such."""
    again = zip(doubted.names, doubted.again, strict=True)
    nobody = sorted(name for name, probable in again if probable >= NOBODY_NEW)
    if not nobody:
        return []
    return [f"{', '.join(nobody)}: there since so many were told, and likely one of the others"]


def _nobody(found: Decoded, likeness: Likeness, composes: bool, low: int, high: int) -> int | None:
    """Who is very probably one of the others or, where g says it, two at once.

    Of as many as were told, if more than one is expected to be nobody new, whoever is likeliest to.

    Args:
        found: who speaks when.
        likeness: of the embedding.
        composes: whether there is a g.
        low: fewest speakers.
        high: most of them.
    """
    said, k = found.monologues, len(found.names)
    if k < 2:
        return None
    every = doubts(said, likeness)
    again = (every if k > high else within(every, low, high)).again
    most = int(again.argmax())
    who = said.names.index(every.names[most])
    enough = NOBODY_NEW if k > low else TOLD
    if again[most] >= enough or (k == low and again.sum() > IN_ALL):
        return who
    mixed = _two_others(found) if composes else None
    return who if mixed is None and k > high else mixed


def _strangest(found: Decoded) -> Float64[np.ndarray, "some p"]:
    """Of the windows that a speaker holds alone, a few that are least like him."""
    said = found.monologues
    cosines = said.centroids @ said.vectors.T.astype(np.float64)  # (k, n)
    held = said.weights > 0
    alone = held & (held.sum(axis=0) == 1)
    own = np.where(alone, cosines, np.inf).min(axis=0)  # (n,)
    return said.vectors[np.argsort(own, kind="stable")[:FEW]].astype(np.float64)


def _two_others(found: Decoded) -> int | None:
    """The speaker whose windows are most like those in which two others speak at once."""
    trellis, said = found.trellis, found.monologues
    if trellis.counts is None or len(found.names) < 3:
        return None
    shares = trellis.counts.mean(trellis.counts.overlap[:, None], trellis.cells)[:, 0]  # (n,)
    together = said.weights @ shares >= TOGETHER * said.seconds  # (k,)
    pairs = enumerate_sets(len(said.names), 2)[len(said.names) :]  # (m, k)
    places = replace(found.speakers, centroids=said.centroids).places(SpeakerSets(pairs))  # (m, p)
    near = np.where(pairs.T, -1.0, said.centroids @ places.T).max(axis=1)  # (k,)
    near = np.where(together, near, -1.0)
    return int(near.argmax()) if near.max() >= COMPOSED else None
