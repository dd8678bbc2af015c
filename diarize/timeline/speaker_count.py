"""Cluster, decode, and remove speakers who are probably not new people.

A clustering sees windows only. There one voice that is heard for long, or in two moods, may look
like two, and two voices that are heard together a few times like a third. Turns tell more: how much
each speaker says, how alike speakers are (`diarize.voices.number`), and how many people are heard
while each of them speaks. A speaker who is probably a duplicate or a mixture of others is removed,
and what they said is decoded again among the others.

If more speakers are asked for than can be told apart, as many are returned all the same. A cluster
would split one voice in halves, and take half of what a person says; so the window that is least
like its speaker is taken for the beginning of somebody else.
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

MORE = 2  # speakers looked for beyond the largest number that is asked for

DUPLICATE = 0.5
"""Probability of being a duplicate from which on a speaker is removed."""

ASKED_FOR, IN_ALL = 0.9, 1.0
"""The same where so many speakers are asked for, since who asks is right as a rule; and the
expected number of duplicates above which the likeliest of them is removed all the same."""

FEWER = 0.8
"""Probability that there are fewer speakers than asked for, from which on those stay whole who are
found if no number is asked for."""

CANDIDATES = 10  # windows that are tried for a speaker who is missing

TOGETHER, COMPOSED = 0.5, 0.65
"""A speaker is a mixture of two others if, in their windows, several people are heard with this
probability on average, and their centroid has this cosine with what g makes of the two. All of
these were chosen on conversations with voices of dev-a."""


def fit_and_prune(
    estimator: Any,
    windows: Float[np.ndarray, "n p"],
    decode: Callable[[Any], Decoded],
    likeness: Likeness,
) -> tuple[Any, Decoded]:
    """Fit a clustering, and remove one speaker after the other who is probably not a new person.

    If there is a largest number of speakers, `MORE` than that are looked for, since turns tell
    better than windows who is to be removed. If there is a smallest number, it counts for the
    doubts, and where too few are left, windows that are least like their speaker become speakers.
    If, by the doubts, there are probably fewer than that, those stay whole who are found without a
    smallest number, and whoever is missing is made of such windows, too. If the embedding does not
    say how alike two windows of one voice are, nobody is removed.

    Args:
        estimator: a clustering, not fitted yet; its bounds on the number of speakers hold.
        windows: that are clustered.
        decode: says who speaks when, given a fitted clustering.
        likeness: of the embedding.

    Returns:
        The clustering into the speakers that are left, and who speaks when by it.
    """
    if not len(windows) or estimator.scatter is None:
        return estimator.fit(windows), decode(estimator)
    low = estimator.n_speakers or estimator.min_speakers or 1
    high = estimator.n_speakers or estimator.max_speakers or len(windows)
    pruning = _Pruning(windows, decode, likeness)
    estimator, found = pruning.pruned(estimator, low, high)
    if low > 1 and found.names and fewer(doubts(found.monologues, likeness)) >= FEWER:
        unbound = copy(estimator)
        unbound.set_params(n_speakers=None, min_speakers=None, max_speakers=high)
        _, those = pruning.pruned(unbound, 1, high)
        if 0 < len(those.names) < low:
            filled = pruning.filled(estimator, those, low)
            if len(filled[1].names) >= low:
                return filled
    return estimator, found


@dataclass(frozen=True)
class _Pruning:
    """Steps of `fit_and_prune`; attributes as its arguments."""

    windows: Float[np.ndarray, "n p"]
    decode: Callable[[Any], Decoded]
    likeness: Likeness

    def among(self, estimator: Any, centroids: Float64[np.ndarray, "k p"]) -> tuple[Any, Decoded]:
        """The clustering with speakers at these places, and who speaks when by it."""
        moved = estimator.moved_to(self.windows, centroids)
        return moved, self.decode(moved)

    def pruned(self, estimator: Any, low: int, high: int) -> tuple[Any, Decoded]:
        """Fit it, and remove speakers; from `low` to `high` of them stay."""
        if estimator.scatter.alike is None:
            return estimator.fit(self.windows), self.decode(estimator)
        asked, most = estimator.n_speakers, estimator.max_speakers
        composes = estimator.compose is not None
        estimator.ask_for_more(len(self.windows), MORE)
        found = self.decode(estimator.fit(self.windows))
        estimator.set_params(n_speakers=asked, max_speakers=most)
        if not found.names:
            return estimator, found
        enough = None
        while (who := _removable(found, self.likeness, composes, low, high)) is not None:
            if low <= len(found.names) <= high:
                enough = estimator, found
            others = np.delete(found.monologues.centroids, who, axis=0)
            estimator, found = self.among(estimator, others)
        if estimator.n_speakers_ > high:  # somebody has no turn
            estimator, found = self.among(estimator, found.monologues.centroids)
        filled = self.filled(estimator, found, low)
        return enough if enough and len(filled[1].names) < low else filled

    def filled(self, estimator: Any, found: Decoded, low: int) -> tuple[Any, Decoded]:
        """Make speakers of the windows least like their own, until there are `low`, or no more."""
        while (k := len(found.names)) < low:
            for window in _least_alike(found):
                centroids = np.concatenate([found.monologues.centroids, window[None]])
                fuller = self.among(estimator, centroids)
                if len(fuller[1].names) > k:
                    break
            else:  # no more is said
                break
            estimator, found = fuller
        return estimator, found


def duplicates_note(doubted: Doubts) -> list[str]:
    """A note on speakers who are there since so many were asked for, if there are such."""
    named = zip(doubted.names, doubted.duplicate, strict=True)
    duplicates = sorted(name for name, probable in named if probable >= DUPLICATE)
    if not duplicates:
        return []
    return [f"{', '.join(duplicates)}: there since so many were told, and likely one of the others"]


def _removable(
    found: Decoded, likeness: Likeness, composes: bool, low: int, high: int
) -> int | None:
    """The speaker to remove next: very probably a duplicate or, where g says it, two at once.

    Of as many as are asked for, if more than one is expected to be a duplicate, the likeliest.

    Args:
        found: who speaks when.
        likeness: of the embedding.
        composes: whether there is a g.
        low: smallest number of speakers.
        high: largest number of speakers.
    """
    said, k = found.monologues, len(found.names)
    if k < 2:
        return None
    every = doubts(said, likeness)
    duplicate = (every if k > high else within(every, low, high)).duplicate
    most = int(duplicate.argmax())
    who = said.names.index(every.names[most])
    enough = DUPLICATE if k > low else ASKED_FOR
    if duplicate[most] >= enough or (k == low and duplicate.sum() > IN_ALL):
        return who
    mixed = _mixture(found) if composes else None
    return who if mixed is None and k > high else mixed


def _least_alike(found: Decoded) -> Float64[np.ndarray, "some p"]:
    """Of the windows that a speaker holds alone, a few that are least like that speaker."""
    said = found.monologues
    cosines = said.centroids @ said.vectors.T.astype(np.float64)  # (k, n)
    held = said.weights > 0
    alone = held & (held.sum(axis=0) == 1)
    own = np.where(alone, cosines, np.inf).min(axis=0)  # (n,)
    return said.vectors[np.argsort(own, kind="stable")[:CANDIDATES]].astype(np.float64)


def _mixture(found: Decoded) -> int | None:
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
