"""Accuracy of ids, and their conflation and fracture, against definitions taken literally."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.scoring import conflation, fracture, hungarian_accuracy, id_cost
from diarize.sets import SpeakerSets

ROW = st.tuples(st.sets(st.integers(0, 3), max_size=3), st.sets(st.integers(0, 3), max_size=2))
ROWS = st.lists(ROW, max_size=12)


def labelings(rows: list[tuple[set[int], set[int]]]) -> tuple[SpeakerSets, SpeakerSets]:
    first = SpeakerSets.from_lists([row[0] for row in rows], 4)
    return first, SpeakerSets.from_lists([row[1] for row in rows], 4)


@given(ROWS)
def test_accuracy_is_the_best_over_all_mappings(rows: list[tuple[set[int], set[int]]]) -> None:
    ids = sum(max(len(a), len(b)) for a, b in rows)
    best = max(
        sum(len({mapping[i] for i in a} & b) for a, b in rows) for mapping in permutations(range(4))
    )
    assert hungarian_accuracy(*labelings(rows)) == pytest.approx(best / ids if ids else 1)


@given(ROWS)
def test_conflation_and_fracture_count_pairs(rows: list[tuple[set[int], set[int]]]) -> None:
    pairs = [(a & c, b & d) for i, (a, b) in enumerate(rows) for c, d in rows[:i]]
    apart = [bool(ours) for ours, theirs in pairs if not theirs]
    together = [not ours for ours, theirs in pairs if theirs]
    conflated = sum(apart) / len(apart) if apart else 0.0
    fractured = sum(together) / len(together) if together else 0.0
    sets = labelings(rows)
    assert conflation(*sets) == pytest.approx(conflated)
    assert fracture(*sets) == pytest.approx(fractured)
    weighted = (3 * conflated + fractured) / 4
    assert id_cost(*sets, conflating=3) == pytest.approx(weighted)
    assert fracture(*sets[::-1]) == pytest.approx(
        1 - sum(bool(b) for a, b in pairs if a) / n if (n := sum(bool(a) for a, _ in pairs)) else 0
    )


def test_by_hand() -> None:
    inferred = SpeakerSets.from_labels([0, 0, 0, 1, 2, 2])
    truth = SpeakerSets.from_labels([1, 1, 0, 0, 0, 0])
    assert hungarian_accuracy(inferred, truth) == pytest.approx(4 / 6)  # 0 -> 1, 2 -> 0
    assert conflation(inferred, truth) == pytest.approx(2 / 8)
    assert fracture(inferred, truth) == pytest.approx(5 / 7)


def test_only_the_share_of_the_weights_matters() -> None:
    inferred = SpeakerSets.from_labels([0, 0, 0, 1, 2, 2])
    truth = SpeakerSets.from_labels([1, 1, 0, 0, 0, 0])
    for scale in (0.1, 1.0, 7.0):
        cost = id_cost(inferred, truth, conflating=3 * scale, fracturing=scale)
        assert cost == pytest.approx((3 * 2 / 8 + 5 / 7) / 4)
    assert id_cost(inferred, truth, conflating=0.0) == pytest.approx(5 / 7)


def test_weights_must_make_sense() -> None:
    sets = SpeakerSets.from_labels([0])
    for weights in ((0.0, 0.0), (-1.0, 2.0)):
        with pytest.raises(ValueError, match="weights"):
            id_cost(sets, sets, conflating=weights[0], fracturing=weights[1])
    with pytest.raises(ValueError, match="cannot be compared"):
        hungarian_accuracy(sets, SpeakerSets.from_labels([0, 0]))
