"""How many people there may be, given the speakers that were found: a probability for each number.

Two things make a number wrong. A speaker may be a duplicate of another: the more alike their voices
are, and the smaller the share of all that is said, the more probable. And a speaker may be two
people merged: the less alike some stretch is to the rest, the more probable. Both are estimated for
each speaker from the `Likeness` that comes with the embedding, and taken for independent. The
clustering had its reasons for the number that it found, so that this is more probable than the
doubts make it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Float64
from scipy.special import expit

from diarize.scatter import Likeness
from diarize.sets import to_sphere
from diarize.voices.vectors import Monologues, scarcity

DUPLICATE = (-3.6, 0.56, 0.78, -4.16)
"""Log odds that a speaker is a duplicate: offset, and factors on `duplicate_features`. A voice that
is heard for long and is divided leaves a part that is small beside all others, however long the
recording is. Fitted to the speakers that `ckm` found when asked for the true number, one and two
more, in conversations with voices of dev-a, by `recipes/conversations/number.py`."""

MERGED = (3.56, -0.57, -1.22)
"""Log odds that a speaker is two people: offset, and factors on the least log odds that a stretch
of theirs is of the person who says the rest, and on log(seconds): the least of many is less. Fitted
to the numbers of people in 178 such recordings, as `ckm` found them."""

CLUSTERED = 0.59
"""Log odds by which the number found is likelier than the doubts make it; fitted with these."""

STRETCH = 2  # seconds of a speaker that are compared with all else of theirs

SURE = 0.9
"""Probability of the numbers that are called possible, together with the one found."""

LEAST = 0.001
"""Probability below which a number is not named."""


class Doubts(NamedTuple):
    """What may be wrong with k speakers that were found."""

    names: tuple[str, ...]
    duplicate: Float64[np.ndarray, " k"]  # probability of each to be one of the others
    merged: Float64[np.ndarray, " k"]  # probability of each to be two people


NO_DOUBTS = Doubts((), np.zeros(0), np.zeros(0))


def doubts(said: Monologues, likeness: Likeness) -> Doubts:
    """Doubt each speaker of a recording, by what they say and the `likeness` of the embedding."""
    names, told = evidence(said, likeness)
    return doubted(told, names)


def doubted(
    told: Float64[np.ndarray, "k 3"],
    names: tuple[str, ...] = (),
    duplicate: Sequence[float] = DUPLICATE,
    merged: Sequence[float] = MERGED,
) -> Doubts:
    """From the `evidence` to the doubts, by two logistics."""
    _, seconds, strange = told.T
    one = duplicate[0] + duplicate_features(told) @ np.asarray(duplicate[1:])
    two = merged[0] + merged[1] * strange + merged[2] * np.log(seconds)
    return Doubts(names, expit(one), expit(two))


def duplicate_features(told: Float64[np.ndarray, "k 3"]) -> Float64[np.ndarray, "k 3"]:
    """What tells, of each speaker, whether they are a duplicate, from `evidence`.

    The largest log odds, by how alike the two voices are, to be one of those who talk more; the
    same where it is above 0; log of their share of what is said, in mean shares.
    """
    alike, seconds, _ = told.T
    share = np.log(seconds / (seconds.mean() if len(seconds) else 1.0))
    return np.stack([alike, np.maximum(alike, 0), share], axis=1)


def evidence(
    said: Monologues, likeness: Likeness
) -> tuple[tuple[str, ...], Float64[np.ndarray, "k 3"]]:
    """What speaks for the doubts; arguments as for `doubts`.

    Returns:
        The speakers, who talks most first, and of each: the largest log odds to be one of those
        before, -inf for the first; seconds of speech (`Monologues.spoken`); and the least log odds
        that a stretch of it is of the person who says the rest.
    """
    seconds, centroids = said.spoken, said.centroids
    scarce = scarcity(seconds)
    order = np.argsort(-seconds, kind="stable")
    told = np.zeros((len(order), 3))
    for place, who in enumerate(order):
        before, held = order[:place], said.weights[who] > 0
        alike = likeness.log_odds(centroids[before] @ centroids[who], scarce[before] + scarce[who])
        strange = _strangest(said.vectors[held], said.weights[who, held], likeness)
        told[place] = alike.max(initial=-np.inf), 1 / scarce[who], strange
    return tuple(said.names[who] for who in order), told


def _strangest(
    vectors: Float[np.ndarray, "n p"], seconds: Float64[np.ndarray, " n"], likeness: Likeness
) -> float:
    """Least log odds that a stretch of a speaker's is of the person who says the rest."""
    total = seconds.sum()
    second = (np.cumsum(seconds) - seconds / 2).astype(np.int64)  # of the speaker's speech
    starts = np.flatnonzero(np.diff(second, prepend=-1))
    sums = np.add.reduceat(vectors * seconds[:, None], starts).astype(np.float64)  # (seconds, p)
    length = min(STRETCH, len(sums) - 1)
    if length < 1:
        return float(likeness.log_odds(1.0, 2 * scarcity(total)))
    stretches = np.lib.stride_tricks.sliding_window_view(sums, length, axis=0).sum(axis=-1)
    rest = to_sphere(sums.sum(axis=0) - stretches)
    cosines = np.einsum("np,np->n", to_sphere(stretches), rest)
    return float(likeness.log_odds(cosines.min(), scarcity(length) + scarcity(total - length)))


def probabilities(
    found: Doubts, low: int = 1, high: int | None = None, clustered: float = CLUSTERED
) -> dict[int, float]:
    """How probable each number of people is, ascending, from `low` to `high` if these are told.

    They sum to one; a number that is next to impossible is left out. Of no speakers, it is 0. With
    0 for `clustered`, the doubts alone count.
    """
    k = len(found.duplicate)
    each = _numbers(found.duplicate, found.merged)
    each[k] *= np.exp(clustered)
    numbers = np.arange(len(each))
    told = (numbers >= min(low, k)) & (numbers <= max(high or len(each), k))
    each = np.where(told, each, 0.0)
    if not each.any():  # what is told is next to impossible: as many as were found
        each[k] = 1.0
    each = np.where(each >= LEAST * each.sum(), each, 0.0)
    each /= each.sum()
    return {int(number): float(each[number]) for number in np.flatnonzero(each)}


def fewer(found: Doubts) -> float:
    """How probable it is, by the doubts alone, that there are fewer people than were found."""
    each = probabilities(found, clustered=0.0)
    return sum(probable for number, probable in each.items() if number < len(found.duplicate))


def within(found: Doubts, low: int = 1, high: int | None = None) -> Doubts:
    """The doubts that are left of each speaker where the number of people has these bounds.

    Where the doubts are sure of another number, they all are left.
    """
    k = len(found.duplicate)
    low, high = min(low, k), max(high or 2 * k, k)

    def mass(duplicate: np.ndarray, merged: np.ndarray) -> float:
        return float(_numbers(duplicate, merged)[low : high + 1].sum())

    everything = mass(found.duplicate, found.merged)
    if everything < np.finfo(float).tiny:
        return found
    duplicate, merged = found.duplicate.copy(), found.merged.copy()
    for i, one in enumerate(np.eye(k, dtype=bool)):  # if that one doubt were certain
        duplicate[i] *= mass(np.where(one, 1.0, found.duplicate), found.merged) / everything
        merged[i] *= mass(found.duplicate, np.where(one, 1.0, found.merged)) / everything
    return Doubts(found.names, duplicate, merged)


def _numbers(
    duplicate: Float64[np.ndarray, " k"], merged: Float64[np.ndarray, " k"]
) -> Float64[np.ndarray, " numbers"]:
    """How probable each number of people is, from 0 on."""
    each = np.ones(1)
    for none, two in zip(duplicate, merged, strict=True):
        each = np.convolve(np.convolve(each, [none, 1 - none]), [1 - two, two])
    return each


def possible(number: Mapping[int, float], found: int) -> tuple[int, int]:
    """The least and the largest number that are possible, beside the one found.

    The numbers between these are, together, at least `SURE`.
    """
    low = high = found
    enough = min(SURE, sum(number.values())) - 1e-9  # less rounding
    while sum(p for n, p in number.items() if low <= n <= high) < enough:
        below = max((n for n in number if n < low), default=None)
        above = min((n for n in number if n > high), default=None)
        if above is None or (below is not None and number[below] >= number[above]):
            if below is None:
                break
            low = below
        else:
            high = above
    return low, high
