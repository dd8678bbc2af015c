"""The clusters of `links` as live speakers."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.streaming.live_speakers import LEAST_SIZE, LiveLinks


def mean(a, b):
    middle = a + b
    return middle / np.linalg.norm(middle, axis=-1, keepdims=True)


def rows(axis: int, n: int) -> np.ndarray:
    return np.tile(np.eye(8, dtype=np.float32)[axis], (n, 1))


def test_small_clusters_are_no_speakers_unless_there_is_nobody_else() -> None:
    made = LiveLinks(8, compose=mean)
    made.take(rows(0, 1))
    assert made.speakers().ids == (0,)
    made.take(rows(1, LEAST_SIZE))
    voices = made.speakers()
    assert voices.ids == (1,) and np.allclose(voices.places, np.eye(8)[[1]])
    made.take(rows(0, LEAST_SIZE + 1))
    assert made.speakers().ids == (0, 1) and len(made.speakers().states) == 3


def test_of_many_clusters_the_largest_are_decoded_among() -> None:
    made = LiveLinks(64, compose=mean)
    for axis in range(40):
        made.take(np.tile(np.eye(64, dtype=np.float32)[axis], (LEAST_SIZE + axis % 2, 1)))
    voices = made.speakers()
    assert len(voices.states) <= 200 and set(voices.ids) <= set(range(1, 40, 2))


def test_what_was_taken_in_became_another() -> None:
    made = LiveLinks(8, compose=mean, T_c=0.5, T_s=0.7)
    apart, between = np.eye(8)[0], np.array([0.45, 0.9, 0, 0, 0, 0, 0, 0])
    made.take(np.tile((between / np.linalg.norm(between)).astype(np.float32), (4, 1)))
    made.take(np.tile(apart.astype(np.float32), (4, 1)))
    for share in np.linspace(0, 1, 12):
        step = mean(apart * (1 - share) + share * between, 0 * apart)
        made.take(np.tile(step.astype(np.float32), (4, 1)))
    assert set(made.became.values()) <= set(made.speakers().ids) | set(made.became)


def test_options_that_cannot_be_used_are_refused_at_once() -> None:
    with pytest.raises(ValueError, match="T_c"):
        LiveLinks(8, compose=mean, T_c=7.0)
