"""How many people there may be, given who was found: a probability for each number.

Two things make a number wrong. A speaker may be somebody who was found already: the more alike his
voice is to that of another who talks more, the sooner. And he may stand for two people: the less
alike are the two halves into which his windows fall, the sooner. Both are asked of each speaker, in
the words of the embedding (`Likeness`), and taken for independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float64
from scipy.special import expit

from diarize.scatter import Likeness
from diarize.sets import to_sphere
from diarize.voices.voiceprints import scarcity, spoken_alone

if TYPE_CHECKING:
    from pyannote.core import Annotation

AGAIN = (-2.0, 0.5)
"""Log odds that a speaker was found already: offset, and factor on the largest log odds, by how
alike the two voices are, that he is one of those who talk more. Fitted to the numbers of people in
conversations of dev-a, found by four backends, by `recipes/conversations/number.py`, as is:"""

HIDES = (-2.0, -0.5)
"""Log odds that he stands for one more: offset, and factor on the log odds that the halves of his
windows are one person's."""

ROUNDS = 10  # at most, in which windows go to the nearer half

SURE = 0.9
"""Probability of the numbers that are called possible, together with the one found."""

LEAST = 0.001
"""Probability below which a number is not named."""


class Doubts(NamedTuple):
    """What may be wrong with k speakers that were found.

    Attributes:
        names: of the speakers.
        again: probability of each that he is somebody who was found already.
        hides: probability of each that he stands for one more person.
    """

    names: tuple[str, ...]
    again: Float64[np.ndarray, " k"]
    hides: Float64[np.ndarray, " k"]


def doubts(
    annotation: Annotation,
    cells: Float64[np.ndarray, "n 2"],
    vectors: Float[np.ndarray, "n p"],
    likeness: Likeness,
) -> Doubts:
    """Doubt each speaker of a recording.

    Args:
        annotation: turns of one recording.
        cells: sorted disjoint stretches of time, seconds.
        vectors: of the window that speaks for each cell, unit length.
        likeness: of the embedding.
    """
    names, again, hides = [], [], []
    for name, alike, halves in evidence(annotation, cells, vectors, likeness):
        names.append(name)
        again.append(expit(AGAIN[0] + AGAIN[1] * alike))
        hides.append(expit(HIDES[0] + HIDES[1] * halves))
    return Doubts(tuple(names), np.array(again), np.array(hides))


def evidence(
    annotation: Annotation,
    cells: Float64[np.ndarray, "n 2"],
    vectors: Float[np.ndarray, "n p"],
    likeness: Likeness,
) -> list[tuple[str, float, float]]:
    """What speaks for either doubt, for each speaker, who talks most first; as for `doubts`.

    Returns:
        Name; the largest log odds that he is one of those before him, -inf for the first; and those
        that the halves of his windows are one person's.
    """
    names, weights = spoken_alone(annotation, cells)  # (k, n)
    seconds, centroids = weights.sum(axis=1), to_sphere(weights @ vectors.astype(np.float64))
    scarce = scarcity(seconds)
    told: list[tuple[str, float, float]] = []
    order = np.argsort(-seconds, kind="stable")
    for place, who in enumerate(order):
        before = order[:place]
        alike = likeness.log_odds(centroids[before] @ centroids[who], scarce[before] + scarce[who])
        held = weights[who] > 0
        halves = _halves(vectors[held].astype(np.float64), weights[who, held], likeness)
        told.append((names[who], float(alike.max(initial=-np.inf)), halves))
    return told


def _halves(
    vectors: Float64[np.ndarray, "n p"], seconds: Float64[np.ndarray, " n"], likeness: Likeness
) -> float:
    """Log odds that the halves into which windows fall (k-means, k = 2) are one person's."""
    mean = seconds @ vectors / seconds.sum()
    spread = (vectors - mean) * np.sqrt(seconds)[:, None]
    axis = np.linalg.eigh(spread.T @ spread)[1][:, -1]
    half = (vectors - mean) @ axis > 0
    if half.all() or not half.any():  # windows that coincide
        return float(likeness.log_odds(1.0, scarcity(seconds.sum())))
    centers = _centers(vectors, seconds, half)
    for _ in range(ROUNDS):
        nearer = vectors @ centers[0] > vectors @ centers[1]
        if (nearer == half).all() or nearer.all() or not nearer.any():
            break
        half, centers = nearer, _centers(vectors, seconds, nearer)
    mine = seconds[half].sum()
    scarce = scarcity(mine) + scarcity(seconds.sum() - mine)
    return float(likeness.log_odds(centers[0] @ centers[1], scarce))


def _centers(
    vectors: Float64[np.ndarray, "n p"],
    seconds: Float64[np.ndarray, " n"],
    half: Bool[np.ndarray, " n"],
) -> Float64[np.ndarray, "2 p"]:
    weights = seconds * np.stack([half, ~half])
    return to_sphere(weights @ vectors)


def probabilities(doubted: Doubts, low: int = 1, high: int | None = None) -> dict[int, float]:
    """How probable each number of people is; they sum to one.

    Args:
        doubted: the speakers found; none of them: there is nobody.
        low: least number that is told.
        high: largest number that is told; None: none is.

    Returns:
        Number to probability, ascending, for all that are not next to impossible.
    """
    found = len(doubted.names)
    each = np.ones(1)  # (numbers,): of people, from 0 on
    for again, hides in zip(doubted.again, doubted.hides, strict=True):
        each = np.convolve(np.convolve(each, [again, 1 - again]), [1 - hides, hides])
    numbers = np.arange(len(each))
    within = (numbers >= min(low, found)) & (numbers <= max(high or len(each), found))
    each = np.where(within, each, 0.0)
    each = np.where(each >= LEAST * each.sum(), each, 0.0)
    each /= each.sum()
    return {int(number): float(each[number]) for number in np.flatnonzero(each)}


def possible(number: Mapping[int, float], found: int) -> tuple[int, int]:
    """The least and the largest number that are possible, beside the one found.

    The numbers between these are, together, at least `SURE`.
    """
    low = high = found
    enough = min(SURE, sum(number.values())) - 1e-9  # less rounding
    while sum(number.get(n, 0.0) for n in range(low, high + 1)) < enough:
        below = max((n for n in number if n < low), default=None)
        above = min((n for n in number if n > high), default=None)
        if above is None or (below is not None and number[below] >= number[above]):
            if below is None:
                break
            low = below
        else:
            high = above
    return low, high
