"""Speakers who are very probably nobody new are clustered anew into fewer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diarize.activity.counts import VoiceCounts
from diarize.clustering import make
from diarize.embedding.knowledge import SCATTER
from diarize.scatter import Likeness, Scatter
from diarize.timeline import TimelineOptions
from diarize.timeline.decoding import decoder
from diarize.timeline.recount import recounted

LIKENESS = Likeness()
SECONDS = 40  # that each place is heard


def voices(*places: np.ndarray) -> np.ndarray:
    """A vector a second, forty near each of these places in turn."""
    rng = np.random.default_rng(0)
    rows = np.repeat(np.stack(places), SECONDS, axis=0)
    rows = rows + rng.normal(0, 0.02, rows.shape)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def compose(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The middle of two, on the sphere."""
    return (a + b) / np.linalg.norm(a + b, axis=-1, keepdims=True)


def found(
    vectors: np.ndarray,
    first: int,
    scatter: Scatter = SCATTER,
    counts: VoiceCounts | None = None,
    **bounds: int,
) -> tuple[int, list[int | None]]:
    """How many speakers are found in the end, and into how many was clustered on the way.

    Args:
        vectors: of a second each.
        first: speakers that the clustering infers.
        scatter: of the vectors.
        counts: how many are heard.
        bounds: further arguments.
    """
    asked: list[int | None] = []
    cells = np.arange(len(vectors))[:, None] + np.array([0.0, 1.0])

    def fit(n_speakers: int | None) -> Any:
        asked.append(n_speakers)
        number = n_speakers or first
        made = make("ac", n_speakers=number, max_set_size=1, compose=compose, scatter=scatter)
        return made.fit(vectors)

    decoded = decoder(cells, vectors, counts, TimelineOptions())
    estimator, believed = recounted(fit, decoded, LIKENESS, **bounds)
    assert believed.turns == decoded(estimator).turns
    return estimator.n_speakers_, asked


NEAR = np.eye(1, 32)[0]
ALSO_NEAR = 0.95 * np.eye(32)[0] + 0.31 * np.eye(32)[1]  # a cosine of 0.95: the same person
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


@pytest.mark.parametrize(("together", "n"), [(0.9, 2), (0.1, 3)])
def test_where_two_speak_at_once_is_nobody(together: float, n: int) -> None:
    both = compose(NEAR, FAR)
    probabilities = np.tile([0, 1, 0, 0], (3 * SECONDS * 50, 1)).astype(np.float32)
    probabilities[2 * SECONDS * 50 :] = [0, 1 - together, together, 0]
    counts = VoiceCounts(0.0, probabilities)
    assert found(voices(NEAR, FAR, both), 3, counts=counts)[0] == n


def test_where_several_are_heard_but_no_two_others_is_somebody() -> None:
    probabilities = np.tile([0, 0.1, 0.9, 0], (3 * SECONDS * 50, 1)).astype(np.float32)
    counts = VoiceCounts(0.0, probabilities)
    assert found(voices(NEAR, FAR, np.eye(32)[3]), 3, counts=counts) == (3, [None])
