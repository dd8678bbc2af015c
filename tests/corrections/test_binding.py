"""Which sets corrections leave to a cell."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diarize.corrections import Claim, Corrections, Kind
from diarize.corrections.binding import Binding
from diarize.sets import SpeakerSets, enumerate_sets
from diarize.timeline import TimelineOptions, Trellis

K = 4
marks = st.lists(
    st.lists(st.sampled_from("?+-"), min_size=K, max_size=K), min_size=1, max_size=5
).map(np.array)


def trellis(n: int, states: SpeakerSets) -> Trellis:
    cells = np.arange(n)[:, None] + np.array([0.0, 1.0])
    return Trellis.of(cells, np.ones((n, 2)), states, None, TimelineOptions())


def every_set() -> list[frozenset[int]]:
    return list(map(frozenset, chain(*(combinations(range(K), size) for size in range(K + 1)))))


@given(marks, st.integers(1, 3))
def test_what_is_left_to_a_cell(marked: np.ndarray, largest: int) -> None:
    binding = Binding(marked == "+", marked == "-")
    states = binding.states(SpeakerSets(enumerate_sets(K, largest)))
    listed = [frozenset(row) for row in states.to_lists()]
    assert len(set(listed)) == len(listed)
    costs = np.arange(len(marked) * len(states), dtype=np.float64).reshape(len(marked), -1)
    bound = binding.bind(replace(trellis(len(marked), states), prior=costs), largest).prior
    for cell, marks_ in enumerate(marked):
        required = {k for k in range(K) if marks_[k] == "+"}
        forbidden = {k for k in range(K) if marks_[k] == "-"}
        suits = [s for s in every_set() if required <= s and not s & forbidden]
        usual = [s for s in suits if 1 <= len(s) <= largest]
        # Larger sets, and nobody, only where a person leaves nothing else.
        expected = usual or [min(suits, key=len)]
        finite = np.flatnonzero(np.isfinite(bound[cell]))
        assert {listed[m] for m in finite} == set(expected)
        np.testing.assert_array_equal(bound[cell, finite], costs[cell, finite])


def test_what_corrections_say_of_cells() -> None:
    told = Corrections(
        (
            Claim(0.0, 1.0, "ann", Kind.ONLY),
            Claim(1.0, 2.0, "ben"),
            Claim(1.5, 2.5, "carl", Kind.ABSENT),
            Claim(3.0, 4.0, "zoe", Kind.ONLY),
        )
    )
    edges = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0])
    cells = np.stack([edges[:-1], edges[1:]], axis=1)
    nowhere = np.zeros(7, bool)
    binding = Binding.of(told, cells, ["ann", "ben", "carl"], nowhere)
    assert binding.required.astype(int).tolist() == [
        [1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0],
    ]  # fmt: skip
    assert binding.forbidden.astype(int).tolist() == [
        [0, 1, 1], [0, 1, 1], [0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0], [1, 1, 1],
    ]  # fmt: skip
    assert binding.told.tolist() == [True, True, True, True, True, False, True]
    bound = binding.bind(trellis(7, binding.states(SpeakerSets(enumerate_sets(3, 2)))), 2)
    assert bound.movable.tolist() == [True, False, False, False, False, False]
    np.testing.assert_array_equal(bound.settled, binding.told)
    np.testing.assert_array_equal(bound.certain, binding.required)
    alone = Binding.of(told, cells, ["ann", "ben", "carl"], np.arange(7) == 2)
    assert alone.forbidden[2].tolist() == [True, False, True]
    np.testing.assert_array_equal(
        np.delete(alone.forbidden, 2, 0), np.delete(binding.forbidden, 2, 0)
    )


def test_nothing_known_changes_nothing() -> None:
    binding = Binding(*np.zeros((2, 3, 2), bool))
    states = SpeakerSets(enumerate_sets(2, 2))
    assert binding.states(states) == states
    assert not binding.bind(trellis(3, states), 2).prior.any()
