"""What follows for the decoding from probabilities of so many voices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.activity.counts import INSTANT, VoiceCounts
from diarize.timeline.counts import LEAST, changes, surprise


@given(
    st.integers(0, 2**32 - 1),
    st.floats(0, 50),
    st.lists(st.tuples(st.integers(0, 390), st.integers(1, 200)), min_size=1, max_size=5),
    st.integers(1, 5),
)
def test_surprise_is_the_mean_over_a_cell(
    seed: int, start: float, stretches: list[tuple[int, int]], largest: int
) -> None:
    """Against the mean of a grid that is ten times finer than the instants."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 4, (60, 4))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    voices = VoiceCounts(start, probabilities.astype(np.float32))
    fine = INSTANT / 10
    begins = [min(begin, 399) for begin, _ in stretches]
    ends = [min(600, begin + n) for begin, (_, n) in zip(begins, stretches, strict=True)]
    cells = start + np.array([begins, ends]).T * fine
    nats = -np.log(np.maximum(voices.probabilities.astype(np.float64), LEAST)).repeat(10, axis=0)
    found = surprise(voices, cells, largest)
    assert found.shape == (len(cells), largest + 1)
    for row, begin, end in zip(found, begins, ends, strict=True):
        expected = nats[begin:end].mean(axis=0)
        for size in range(largest + 1):
            assert row[size] == pytest.approx(expected[min(size, 3)], abs=1e-6)


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


def test_what_cannot_be_surprises_by_so_much_only() -> None:
    voices = VoiceCounts(0.0, np.eye(4, dtype=np.float32)[[1, 1]])
    (nats,) = surprise(voices, np.array([[0.0, 0.04]]), 4)
    assert nats == pytest.approx([-np.log(LEAST), 0, *[-np.log(LEAST)] * 3])
