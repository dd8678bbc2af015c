"""From how alike two voices are to whether they are one person's, fitted to training windows.

Windows of one voice out of one episode, with its room and microphone, are one hearing of it; one to
four hearings together stand for a speaker that was found. Pairs of these, of one voice and of two
of one corpus, are told apart by a logistic regression. Where there are too few, nothing is fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Float64

from diarize.scatter import Likeness
from diarize.sets import to_sphere

MOST_HEARINGS = 4  # that stand for one speaker
LEAST_PAIRS = 50  # of one voice
OTHERS = 20  # speakers whom each is compared with
RIDGE = 1e-3  # on the factors: where all pairs can be told apart, they stay finite
SEED = 11


class Hearing(NamedTuple):
    """A voice alone, as it was heard in one place.

    Attributes:
        voice: whose it is.
        corpus: where it comes from.
        seconds: of its windows.
        vectors: of them.
    """

    voice: int
    corpus: str
    seconds: float
    vectors: Float32[np.ndarray, "n p"]


class _Found(NamedTuple):
    voice: int
    corpus: str
    seconds: float
    centroid: Float64[np.ndarray, " p"]


def fitted_likeness(hearings: Sequence[Hearing], before: Likeness) -> Likeness:
    """Fit the factors to hearings; the least probabilities stay as they are."""
    from sklearn.linear_model import LogisticRegression

    rows, same = pairs(hearings)
    if same.sum() < LEAST_PAIRS or same.all():
        return before
    weights = np.where(same, 1 / same.sum(), 1 / (~same).sum())
    model = LogisticRegression(C=1 / RIDGE, tol=1e-8, max_iter=1000)
    model.fit(rows, same, weights * len(same))
    cosine, scarcity = model.coef_[0].tolist()
    return replace(before, offset=float(model.intercept_[0]), cosine=cosine, scarcity=scarcity)


def pairs(
    hearings: Sequence[Hearing],
) -> tuple[Float64[np.ndarray, "pairs 2"], Bool[np.ndarray, " pairs"]]:
    """Cosine and scarcity of pairs of speakers, and whether they are one voice."""
    rng = np.random.default_rng(SEED)
    by_voice: dict[int, list[Hearing]] = {}
    for hearing in hearings:
        by_voice.setdefault(hearing.voice, []).append(hearing)
    halves = [_two(rng, own) for own in by_voice.values() if len(own) > 1]
    rows, same = [], []
    for n, (first, second) in enumerate(halves):
        others = [two for two in halves[:n] if two[1].corpus == first.corpus]
        chosen = rng.permutation(len(others))[:OTHERS].tolist()
        for other in (second, *(others[i][1] for i in chosen)):
            cosine = float(first.centroid @ other.centroid)
            rows.append((cosine, 1 / first.seconds + 1 / other.seconds))
            same.append(first.voice == other.voice)
    return np.array(rows, np.float64).reshape(-1, 2), np.array(same, bool)


def _two(rng: np.random.Generator, own: list[Hearing]) -> tuple[_Found, _Found]:
    """A voice as it was found twice, in disjoint hearings."""
    order = rng.permutation(len(own)).tolist()
    most = min(MOST_HEARINGS, len(own) // 2)
    sizes = rng.integers(1, most + 1, 2).tolist()
    chosen = order[: sizes[0]], order[sizes[0] : sum(sizes)]
    first, second = (_found([own[i] for i in part]) for part in chosen)
    return first, second


def _found(own: list[Hearing]) -> _Found:
    rows = np.concatenate([hearing.vectors for hearing in own]).astype(np.float64)
    seconds = sum(hearing.seconds for hearing in own)
    return _Found(own[0].voice, own[0].corpus, seconds, to_sphere(rows.mean(axis=0)))
