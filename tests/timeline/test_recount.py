"""Speakers who are very probably nobody new are clustered anew into fewer."""

from __future__ import annotations

from typing import Any

import numpy as np

from diarize.clustering import make
from diarize.embedding.knowledge import SCATTER
from diarize.scatter import Likeness, Scatter
from diarize.timeline import TimelineOptions
from diarize.timeline.decoding import decoder
from diarize.timeline.recount import FEW, recounted

LIKENESS = Likeness()
SECONDS = 40  # that each place is heard


def voices(*places: np.ndarray) -> np.ndarray:
    """A vector a second, forty near each of these places in turn."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.stack(places), SECONDS, axis=0)
    rows = rows + rng.normal(0, 0.02, rows.shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def found(
    vectors: np.ndarray, first: int, scatter: Scatter = SCATTER, other: int = 0, **bounds: int
) -> tuple[int, list[int | None]]:
    """How many speakers are found in the end, and into how many was clustered on the way.

    Args:
        vectors: of a second each.
        first: speakers that the clustering infers.
        scatter: of the vectors.
        other: speakers that another clustering infers; 0: there is none.
        bounds: further arguments.
    """
    asked: list[int | None] = []
    cells = np.arange(len(vectors))[:, None] + np.array([0.0, 1.0])

    def clustered(n_speakers: int) -> Any:
        return make("ac", n_speakers=n_speakers, max_set_size=1, scatter=scatter).fit(vectors)

    def fit(n_speakers: int | None) -> Any:
        asked.append(n_speakers)
        return clustered(n_speakers or first)

    def second(n_speakers: int | None) -> Any:
        return clustered(n_speakers or other)

    decoded = decoder(cells, vectors, None, TimelineOptions())
    told = second if other else None
    estimator, believed = recounted(fit, decoded, LIKENESS, second=told, **bounds)
    assert believed.turns == decoded(estimator).turns
    return estimator.n_speakers_, asked


NEAR = np.eye(1, 32)[0]
ALSO_NEAR = 0.95 * np.eye(32)[0] + 0.31 * np.eye(32)[1]  # a cosine of 0.95: the same person
RATHER_NEAR = 0.9 * np.eye(32)[0] + 0.436 * np.eye(32)[1]
FAR = np.eye(32)[2]


def test_who_is_nobody_new_is_clustered_with_the_others() -> None:
    assert found(voices(NEAR, ALSO_NEAR, FAR), 3) == (2, [None, 2])


def test_two_people_stay_two() -> None:
    assert found(voices(NEAR, FAR), 2) == (2, [None])


def test_it_goes_on_until_the_number_is_believed() -> None:
    n, asked = found(voices(NEAR, ALSO_NEAR, FAR), 6)
    assert n == 2 and asked[0] is None and asked[-1] == 2
    assert asked[1:] == sorted(asked[1:], reverse=True)


def test_bounds_hold() -> None:
    assert found(voices(NEAR, ALSO_NEAR, FAR), 3, least=3) == (3, [None])


def test_one_speaker_or_none_is_left_alone() -> None:
    assert found(voices(NEAR), 1) == (1, [None])


def test_over_a_telephone_near_voices_may_be_two() -> None:
    assert found(voices(NEAR, ALSO_NEAR, FAR), 3, SCATTER.within(narrow=True)) == (3, [None])


def test_where_it_is_in_doubt_a_second_opinion_counts() -> None:
    doubtful = voices(NEAR, RATHER_NEAR, FAR)
    assert found(doubtful, 3) == (3, [None])
    assert found(doubtful, 3, other=2) == (2, [None, 2])
    assert found(doubtful, 3, other=3) == (3, [None])
    assert found(doubtful, 3, other=2, least=3) == (3, [None])
    narrow = SCATTER.within(narrow=True)
    assert found(doubtful, 3, narrow, other=2) == (3, [None])


def test_where_many_are_found_nobody_is_asked() -> None:
    others = np.eye(32)[2 : FEW + 2]
    assert found(voices(NEAR, RATHER_NEAR, *others), FEW + 2, other=2) == (FEW + 2, [None])


def test_where_it_is_not_in_doubt_nobody_is_asked() -> None:
    assert found(voices(NEAR, FAR), 2, other=1) == (2, [None])
