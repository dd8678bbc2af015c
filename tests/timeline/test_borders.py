"""Borders between cells of different sets."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.activity import VoiceCounts
from diarize.activity.counts import INSTANT
from diarize.sets import SpeakerSets
from diarize.timeline import TimelineOptions, Trellis
from diarize.timeline.borders import changes, move_borders
from diarize.timeline.trellis import LEAST

from ..making import cells

STATES = SpeakerSets.from_lists([[0], [1], [0, 1]], n_speakers=2)


def moved(cells, costs, path, movable=None, voices=None) -> np.ndarray:
    trellis = Trellis.of(cells, np.zeros((len(cells), 2)), STATES, voices, TimelineOptions())
    if movable is not None:
        trellis = replace(trellis, movable=movable)
    return move_borders(trellis, costs, path)


def test_a_border_lies_where_the_costs_cross():
    costs = np.array([[0.2, 0.5, 9], [0.2, 0.5, 9], [0.6, 0.5, 9], [0.9, 0.1, 9]])
    refined = moved(cells(4), costs, np.array([0, 0, 1, 1]))
    # The old set is better by 0.3 at 0.75 s and worse by 0.1 at 1.25 s.
    assert refined[1, 1] == refined[2, 0] == pytest.approx(0.75 + 0.5 * 0.3 / 0.4)
    np.testing.assert_array_equal(refined[[0, 3]], cells(4)[[0, 3]])


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.booleans(), st.booleans(), st.floats(0.1, 2)), max_size=8
    ),
    st.integers(0, 2**32 - 1),
)
def test_borders_move_one_by_one(drawn, seed):
    """Each to the zero of a line through two points, if it may, and if that lies between them."""
    n = len(drawn)
    costs = np.random.default_rng(seed).random((n, 3))
    path = np.array([state for state, *_ in drawn], dtype=np.int64)
    lengths = np.array([length for *_, length in drawn])
    pauses = np.array([0.3 * apart for _, apart, *_ in drawn])
    ends = np.cumsum(lengths + pauses)
    where = np.stack([ends - lengths, ends], axis=1).reshape(-1, 2)
    movable = np.array([may for _, _, may, _ in drawn], dtype=bool)[1:]
    expected = where.copy()
    for i in range(n - 1):
        if pauses[i + 1] or path[i] == path[i + 1] or not movable[i]:
            continue
        before = costs[i, path[i]] - costs[i, path[i + 1]]
        after = costs[i + 1, path[i]] - costs[i + 1, path[i + 1]]
        if before < 0 < after:
            middles = where[i : i + 2].mean(axis=1)
            expected[i, 1] = expected[i + 1, 0] = np.interp(0, [before, after], middles)
    np.testing.assert_allclose(moved(where, costs, path, movable), expected, atol=1e-9)


def test_a_border_lies_where_the_number_is_heard_to_change() -> None:
    """And where only the speaker changes, or it may not move, nothing that is heard moves it."""
    costs = np.array([[0.2, 0.5, 0.5], [0.2, 0.5, 0.5], [0.5, 0.2, 0.2], [0.5, 0.2, 0.2]])
    heard = np.eye(4, dtype=np.float32)[[1] * 45 + [2] * 55]  # from 0.9 s on there are two
    voices = VoiceCounts(0.0, heard)
    alone, both = np.array([0, 0, 1, 1]), np.array([0, 0, 2, 2])
    assert moved(cells(4), costs, alone, voices=voices)[1, 1] == pytest.approx(1.0)
    assert moved(cells(4), costs, both)[1, 1] == pytest.approx(1.0)
    found = moved(cells(4), costs, both, voices=voices)
    assert found[1, 1] == found[2, 0] == pytest.approx(0.9)
    fixed = moved(cells(4), costs, both, np.array([True, False, True]), voices)
    np.testing.assert_array_equal(fixed, cells(4))


@given(
    st.integers(0, 2**32 - 1),
    st.lists(
        st.tuples(st.integers(0, 50), st.integers(1, 20), st.integers(0, 4), st.integers(0, 4)),
        min_size=1,
        max_size=4,
    ),
)
def test_a_change_lies_where_it_is_likeliest(
    seed: int, asked: list[tuple[int, int, int, int]]
) -> None:
    """Against all places where it may lie."""
    rng = np.random.default_rng(seed)
    voices = VoiceCounts(7.0, rng.dirichlet([0.3] * 4, 60).astype(np.float32))
    asked = [(begin, min(60, begin + n), a, b) for begin, n, a, b in asked]
    nats = -np.log(np.maximum(voices.probabilities.astype(np.float64), LEAST))

    def cost(at: int, begin: int, end: int, before: int, after: int) -> float:
        return float(nats[begin:at, min(before, 3)].sum() + nats[at:end, min(after, 3)].sum())

    found = changes(
        voices,
        7.0 + np.array([row[:2] for row in asked]) * INSTANT,
        np.array([row[2] for row in asked]),
        np.array([row[3] for row in asked]),
    )
    for time, (begin, end, before, after) in zip(found, asked, strict=True):
        at = round((time - 7.0) / INSTANT)
        assert begin <= at <= end and time == pytest.approx(7.0 + at * INSTANT)
        least = min(cost(k, begin, end, before, after) for k in range(begin, end + 1))
        assert cost(at, begin, end, before, after) == pytest.approx(least)
