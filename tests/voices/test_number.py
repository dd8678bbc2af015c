"""How many people there may be."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyannote.core import Annotation

from diarize.scatter import Likeness
from diarize.voices.number import SURE, Doubts, doubts, fewer, possible, probabilities, within
from diarize.voices.vectors import Monologues

from ..making import annotation, cells

CHANCES = st.lists(
    st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)), min_size=1, max_size=12
).map(lambda pairs: doubted(*pairs))


def doubted(*pairs: tuple[float, float]) -> Doubts:
    """Speakers with these chances of being a duplicate, and of being two people."""
    duplicate, merged = np.array(pairs, float).reshape(-1, 2).T.copy()
    duplicate[:1] = 0.0
    return Doubts(tuple(f"S{n}" for n in range(len(duplicate))), duplicate, merged)


@given(CHANCES)
def test_probabilities_sum_to_one(speakers: Doubts) -> None:
    number = probabilities(speakers)
    assert sum(number.values()) == pytest.approx(1.0)
    assert list(number) == sorted(number)
    assert min(number) >= 1 and max(number) <= 2 * len(speakers.names)
    assert all(chance > 0 for chance in number.values())


@given(CHANCES, st.integers(1, 12), st.integers(0, 12))
@example(doubted((0.0, 1.0)), 1, 0)  # who was found is two, and no more than one is told
def test_bounds_bind(speakers: Doubts, low: int, more: int) -> None:
    found, high = len(speakers.names), low + more
    number = probabilities(speakers, low, high)
    assert min(low, found) <= min(number) and max(number) <= max(high, found)
    assert sum(number.values()) == pytest.approx(1.0)


def test_they_are_those_of_independent_doubts() -> None:
    assert probabilities(doubted((0.0, 0.0), (0.0, 0.0))) == {2: 1.0}
    one, two, three = 0.2 * 0.9, 0.2 * 0.1 + 0.8 * 0.9, 0.8 * 0.1
    number = probabilities(doubted((0.0, 0.1), (0.2, 0.0)), clustered=0.0)
    assert number == pytest.approx({1: one, 2: two, 3: three})
    assert probabilities(doubted()) == {0: 1.0}


def test_the_number_found_is_more_probable_than_its_doubts_say() -> None:
    speakers = doubted((0.0, 0.1), (0.2, 0.0))
    doubts_alone = probabilities(speakers, clustered=0.0)
    number = probabilities(speakers, clustered=1.5)
    for other in (1, 3):
        odds = doubts_alone[2] / doubts_alone[other]
        assert number[2] / number[other] == pytest.approx(np.exp(1.5) * odds)


def test_what_is_told_is_the_only_number() -> None:
    assert probabilities(doubted((0.0, 0.5), (0.5, 0.5)), 2, 2) == {2: 1.0}


@given(CHANCES, st.integers(1, 8))
def test_doubts_that_a_told_number_leaves_are_those_of_bayes(speakers: Doubts, told: int) -> None:
    """Against counting all that may be wrong, for a few speakers."""
    k = min(len(speakers.names), 4)
    few = Doubts(speakers.names[:k], speakers.duplicate[:k], speakers.merged[:k])
    low = min(told, k)
    sums, total = np.zeros((2, k)), 0.0
    for wrong in product((False, True), repeat=2 * k):
        duplicate, merged = np.array(wrong[:k]), np.array(wrong[k:])
        if not low <= k - duplicate.sum() + merged.sum() <= max(told, k):
            continue
        chance = np.where(duplicate, few.duplicate, 1 - few.duplicate).prod()
        chance *= np.where(merged, few.merged, 1 - few.merged).prod()
        total += chance
        sums += chance * np.stack([duplicate, merged])
    if total > 1e-9:
        left = within(few, told, told)
        np.testing.assert_allclose(np.stack([left.duplicate, left.merged]), sums / total, atol=1e-6)


def test_fewer_are_those_of_whom_somebody_is_nobody_new() -> None:
    duplicate, merged = np.array([0.0, 0.6, 0.5]), np.array([0.0, 0.0, 0.2])
    # One of them, and the third not two; or two of them, whether or not the third is two.
    expected = (0.6 * 0.5 + 0.4 * 0.5) * 0.8 + 0.6 * 0.5
    assert fewer(Doubts(("a", "b", "c"), duplicate, merged)) == pytest.approx(expected)
    assert fewer(Doubts((), np.zeros(0), np.zeros(0))) == 0


def test_who_is_told_to_be_alone_is_not_in_doubt() -> None:
    left = within(doubted((0.0, 0.4)), 1, 1)
    assert left.duplicate == left.merged == [0.0]
    assert within(doubted()).names == ()


@pytest.mark.parametrize("speakers", [((0.0, 1.0),), ((0.0, 0.0), (1.0, 0.0))])
def test_doubts_that_are_sure_of_another_number_are_left(speakers: tuple) -> None:
    every = doubted(*speakers)
    left = within(every, len(speakers), len(speakers))
    np.testing.assert_array_equal([left.duplicate, left.merged], [every.duplicate, every.merged])
    assert probabilities(every, len(speakers), len(speakers)) == {len(speakers): 1.0}


@given(CHANCES)
def test_the_possible_numbers_are_enough_and_hold_the_one_found(speakers: Doubts) -> None:
    number, found = probabilities(speakers), len(speakers.names)
    low, high = possible(number, found)
    assert low <= found <= high
    assert sum(number.get(n, 0.0) for n in range(low, high + 1)) >= SURE - 1e-9


def test_the_possible_numbers_are_no_more_than_needed() -> None:
    assert possible({3: 0.04, 4: 0.92, 5: 0.04}, 4) == (4, 4)
    assert possible({3: 0.3, 4: 0.65, 5: 0.05}, 4) == (3, 4)
    assert possible({3: 0.2, 4: 0.6, 5: 0.2}, 4) == (3, 5)
    assert possible({2: 0.95, 5: 0.05}, 4) == (2, 4)
    assert possible({}, 4) == (4, 4)
    assert possible({1: 0.5, 10**12: 0.5}, 1) == (1, 10**12)  # of a file; no number is walked over


def voice(rng: np.random.Generator, direction: int, spread: float, n: int = 60) -> np.ndarray:
    rows = rng.normal(0, spread / np.sqrt(16), (n, 16))
    rows[:, direction] += 1
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def talk(seconds: float) -> tuple[Annotation, np.ndarray]:
    """Two speakers, one after the other, and cells of 0.2 s."""
    turns = annotation((0.0, seconds, "a"), (seconds, 2 * seconds, "b"))
    return turns, cells(round(2 * seconds / 0.2), 0.2)


def doubts_of(turns: Annotation, cells: np.ndarray, vectors: np.ndarray) -> Doubts:
    return doubts(Monologues.of(turns, cells, vectors), Likeness())


def test_voices_that_are_alike_may_be_one_and_a_divided_voice_two() -> None:
    rng = np.random.default_rng(0)
    turns, cells = talk(12.0)
    two = doubts_of(turns, cells, np.concatenate([voice(rng, 0, 0.6), voice(rng, 1, 0.6)]))
    one = doubts_of(turns, cells, np.concatenate([voice(rng, 0, 0.6), voice(rng, 0, 0.6)]))
    mixed = np.concatenate([voice(rng, 0, 0.6, 30), voice(rng, 1, 0.6, 30)])
    three = doubts_of(turns, cells, np.concatenate([mixed, voice(rng, 2, 0.6)]))
    assert one.duplicate[0] == two.duplicate[0] == 0.0
    assert two.duplicate[1] < 0.1 < 0.5 < one.duplicate[1]
    merged = dict(zip(three.names, three.merged, strict=True))
    assert merged["a"] > 2 * merged["b"]
    assert probabilities(two)[2] > max(probabilities(one)[2], probabilities(three).get(2, 0.0))


def test_who_talks_while_others_do_is_no_less_somebody() -> None:
    rng = np.random.default_rng(0)
    laid = cells(60, 0.2)
    first, other = voice(rng, 0, 0.6), voice(rng, 1, 0.6, 2)
    vectors = np.concatenate([first[:58], other])
    often = annotation((0.0, 11.6, "a"), (5.0, 12.0, "b"))
    hardly = annotation((0.0, 11.6, "a"), (11.6, 12.0, "b"))
    somebody, nobody = (doubts_of(turns, laid, vectors).duplicate[1] for turns in (often, hardly))
    assert somebody < 0.1 * nobody


@pytest.mark.filterwarnings("error")
def test_windows_that_coincide_and_a_single_one() -> None:
    turns, cells = talk(0.2)
    same = np.tile(voice(np.random.default_rng(0), 0, 0.1, 1), (2, 1))
    assert np.isfinite(np.array(doubts_of(turns, cells, same)[1:])).all()
    assert doubts_of(Annotation(), cells[:0], same[:0]).names == ()
