"""What follows from the probabilities of so many voices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.activity.counts import INSTANT, LEAST, Heard, VoiceCounts

# Rows that are told by a letter: nobody, one, two, three voices for sure, and nothing is known.
ROWS = {"-": (1, 0, 0, 0), "1": (0, 1, 0, 0), "2": (0, 0, 1, 0), "3": (0, 0, 0, 1)}
ROWS["?"] = (0.25, 0.25, 0.25, 0.25)


def counts(letters: str, start: float = 0.0) -> VoiceCounts:
    rows = np.array([ROWS[letter] for letter in letters], np.float32).reshape(-1, 4)
    return VoiceCounts(start, rows)


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
    found = voices.surprise(cells, largest)
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

    found = voices.changes(
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
    voices = counts("11")
    (nats,) = voices.surprise(np.array([[0.0, 0.04]]), 4)
    assert nats == pytest.approx([-np.log(LEAST), 0, *[-np.log(LEAST)] * 3])


def regions(voices: VoiceCounts, **options: float) -> list[list[float]]:
    given = {"threshold": 0.5, "lower": 0.5, "min_speech": 0.0, "min_silence": 0.0} | options
    return (voices.speech(**given) / INSTANT).round(6).tolist()


def test_speech_is_where_nobody_is_improbable() -> None:
    voices = counts("--11-2--?3--")
    assert regions(voices) == [[2, 4], [5, 6], [8, 10]]
    assert regions(voices, threshold=0.8, lower=0.8) == [[2, 4], [5, 6], [9, 10]]
    assert regions(voices, min_silence=0.04) == [[2, 6], [8, 10]]
    assert regions(voices, min_silence=0.05) == [[2, 10]]
    assert regions(voices, min_speech=0.04) == [[2, 4], [8, 10]]
    # A gap is closed first: what is short alone may be long together.
    assert regions(counts("1-1-1"), min_speech=0.1, min_silence=0.03) == [[0, 5]]
    assert regions(counts("--?1??-"), threshold=0.9, lower=0.5) == [[3, 6]]
    late = counts("-11-", start=7.0).speech(0.5, 0.5, 0.0, 0.0)
    assert late == pytest.approx(np.array([[7.02, 7.06]]))
    assert regions(counts("")) == regions(counts("----")) == []


def test_what_is_just_long_enough_is_so_everywhere() -> None:
    """A tenth of a second is five instants, wherever they lie."""
    for first in range(200):
        voices = counts("-" * first + "1" * 5 + "-" * 10 + "1" * 5)
        found = regions(voices, min_speech=0.1, min_silence=0.2)
        assert found == [[first, first + 5], [first + 15, first + 20]]


def test_the_likeliest_number() -> None:
    assert counts("-1231-").likeliest().tolist() == [0, 1, 2, 3, 1, 0]


def test_what_was_heard_comes_back_from_arrays() -> None:
    some = np.array([[0.0, 1.0]])
    alone = Heard.from_arrays(Heard(some).arrays())
    assert alone.voices is None and np.array_equal(alone.regions, some)
    both = Heard.from_arrays(Heard(some, counts("1-2", start=3.5)).arrays())
    assert both.voices is not None and both.voices.start == 3.5
    assert np.array_equal(both.voices.probabilities, counts("1-2").probabilities)
    assert Heard.of(both) is both and Heard.of(some).regions is some
