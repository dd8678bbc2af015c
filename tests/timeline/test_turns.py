"""Cells to turns: crumbs, gaps, names."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pyannote.core import Annotation, Segment

from diarize.sets import SpeakerSets
from diarize.timeline import TimelineOptions
from diarize.timeline.turns import in_scraps, name_turns, sets_at, turns

from ..making import cells


def test_turns_join_cells_and_close_gaps():
    sets = SpeakerSets.from_lists([[0], [0], [1], [0, 1], [], [1]], n_speakers=2)
    options = TimelineOptions(min_turn=0.0, min_gap=0.0)
    assert turns(cells(6), sets, options) == [
        (0.0, 1.0, 0),
        (1.0, 2.0, 1),
        (1.5, 2.0, 0),
        (2.5, 3.0, 1),
    ]
    closing = TimelineOptions(min_turn=0.0, min_gap=0.5)
    assert turns(cells(6), sets, closing) == [(0.0, 2.0, 0), (1.0, 3.0, 1)]


def test_a_crumb_of_overlap_is_dropped_and_a_lone_crumb_goes_to_its_neighbour():
    step = 0.1
    sets = SpeakerSets.from_lists([[0]] * 5 + [[0, 1]] + [[0]] * 5 + [[1]] + [[0]] * 3)
    found = turns(cells(15, step), sets, TimelineOptions(min_turn=0.25, min_gap=0.0))
    assert [(round(b, 3), round(e, 3), s) for b, e, s in found] == [(0.0, 1.5, 0)]


def test_a_shortest_turn_may_be_a_whole_number() -> None:
    sets = SpeakerSets.from_lists([[0], [0], [0], [1]])
    found = turns(cells(4), sets, TimelineOptions(min_turn=1), nobody=[1])
    assert [who for _, _, who in found] == [0]


def literal_turns(
    where: np.ndarray, rows: list[set[int]], shortest: float, least: int
) -> list[set[int]]:
    """Who is left in each cell when shorter runs are given to neighbours, cell by cell."""
    n = len(rows)
    joined = [i > 0 and where[i, 0] - where[i - 1, 1] <= 1e-9 for i in range(n)]
    runs: dict[int, list[list[int]]] = {}
    for i, row in enumerate(rows):
        for speaker in row:
            own = runs.setdefault(speaker, [])
            if own and own[-1][-1] == i - 1 and joined[i]:
                own[-1].append(i)
            else:
                own.append([i])

    def length(run: list[int]) -> float:
        return sum(where[i, 1] - where[i, 0] for i in run)

    kept: list[set[int]] = [set() for _ in rows]
    for speaker, own in runs.items():
        for run in own:
            for i in run if length(run) >= shortest - 1e-9 else []:
                kept[i].add(speaker)
    longest = {speaker: max(own, key=length) for speaker, own in runs.items()}
    left_out = sorted(runs.keys() - set().union(*kept))
    left_out.sort(key=lambda speaker: -length(longest[speaker]))
    for speaker in left_out[: max(0, least - len(set().union(*kept)))]:
        for i in longest[speaker]:
            kept[i].add(speaker)
    lost = [i for i in range(n) if rows[i] and not kept[i]]
    for i in lost:
        if joined[i]:
            kept[i] = kept[i - 1]
    for i in reversed(lost):
        if not kept[i] and i + 1 < n and joined[i + 1]:
            kept[i] = kept[i + 1]
    return [kept[i] or rows[i] for i in range(n)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.125, 0.25, 1.0]),  # seconds of a cell
            st.sampled_from([0.0, 0.0, 0.5]),  # and of the pause before it
            st.sets(st.integers(0, 3), max_size=2),
        ),
        max_size=12,
    ),
    st.integers(0, 4),
)
def test_short_turns_go_to_their_neighbours(
    drawn: list[tuple[float, float, set[int]]], least: int
) -> None:
    ends = np.cumsum([pause + length for length, pause, _ in drawn])
    lengths = np.array([length for length, _, _ in drawn])
    where = np.stack([ends - lengths, ends], axis=1).reshape(-1, 2)
    rows = [row for _, _, row in drawn]
    found = turns(
        where,
        SpeakerSets.from_lists(rows, n_speakers=4),
        TimelineOptions(min_turn=0.3, min_gap=0.0),
        least,
    )
    held = [{s for b, e, s in found if b < middle < e} for middle in where.mean(axis=1)]
    assert held == literal_turns(where, rows, 0.3, least)
    for begin, end, speaker in found:  # each as long as it can be, and not across a pause
        assert begin in where[:, 0] and end in where[:, 1]
        assert (end, speaker) not in {(b, s) for b, _, s in found}


def test_a_gap_in_which_enough_others_speak_stays_open() -> None:
    sets = SpeakerSets.from_labels([0, 0, 0, 1, 0, 0, 0])
    options = TimelineOptions(min_turn=0.0)  # closes gaps of up to 0.3 s
    found = turns(cells(7, 0.25), sets, options, most=1)
    assert found == [(0.0, 0.75, 0), (0.75, 1.0, 1), (1.0, 1.75, 0)]
    assert turns(cells(7, 0.25), sets, options, most=2) == [(0.0, 1.75, 0), (0.75, 1.0, 1)]
    both = SpeakerSets.from_lists([[0]] * 3 + [[1, 2]] + [[0]] * 3)
    assert len(turns(cells(7, 0.25), both, options, most=2)) == 4
    assert len(turns(cells(7, 0.25), both, options, most=3)) == 3
    # A pause has room for as many as a cell: the shorter gap is closed.
    edges = np.array([(0.0, 1.0), (1.0, 1.125), (1.25, 1.375), (1.375, 2.0)])
    alternating = SpeakerSets.from_labels([0, 1, 1, 0])
    assert turns(edges, alternating, options, most=1) == [
        (0.0, 1.0, 0), (1.0, 1.375, 1), (1.375, 2.0, 0)
    ]  # fmt: skip


def test_a_crumb_beside_a_set_that_only_a_person_asked_for_stays() -> None:
    sets = SpeakerSets.from_lists([[0], [0], [0, 1, 2], [0, 1, 2], [3], [0], [0]])
    options = TimelineOptions(min_turn=0.75, min_gap=0.0)
    settled = np.array([0, 0, 1, 1, 0, 0, 0], bool)
    found = turns(cells(7), sets, options, settled=settled, most=2)
    assert [turn for turn in found if turn[2]] == [(1.0, 2.0, 1), (1.0, 2.0, 2)]


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.125, 0.25, 0.5]),  # seconds of a cell
            st.sampled_from([0.0, 0.0, 0.25]),  # and of the pause before it
            st.sets(st.integers(0, 3), max_size=3),
        ),
        max_size=14,
    ),
    st.integers(1, 3),
)
def test_the_largest_set_holds_for_turns(
    drawn: list[tuple[float, float, set[int]]], most: int
) -> None:
    ends = np.cumsum([pause + length for length, pause, _ in drawn])
    lengths = np.array([length for length, _, _ in drawn])
    where = np.stack([ends - lengths, ends], axis=1).reshape(-1, 2)
    sets = SpeakerSets.from_lists([sorted(row)[:most] for *_, row in drawn], n_speakers=4)
    found = turns(where, sets, TimelineOptions(min_turn=0.3, min_gap=0.8), most=most)
    for instant in np.arange(0.0625, ends[-1] if len(drawn) else 0.0, 0.125):
        assert sum(begin < instant < end for begin, end, _ in found) <= most


def test_a_cell_between_borders_that_met_is_no_turn() -> None:
    cells = np.array([[0.0, 1.0], [1.0, 1.0 + 2e-16], [1.0 + 2e-16, 2.0]])
    found = turns(cells, SpeakerSets(np.eye(3, dtype=bool)), TimelineOptions(), least=3)
    assert [who for *_, who in found] == [0, 2]


def test_short_turns_stay_where_a_cell_is_settled() -> None:
    sets = SpeakerSets.from_labels([0, 0, 1, 0, 1, 0])
    options = TimelineOptions(min_turn=0.6, min_gap=0.0)
    settled = np.arange(6) == 2
    found = turns(cells(6), sets, options, settled=settled)
    assert found == [(0.0, 1.0, 0), (1.0, 1.5, 1), (1.5, 3.0, 0)]
    assert turns(cells(6), sets, options) == [(0.0, 3.0, 0)]


def test_speakers_are_named_by_first_appearance() -> None:
    assert name_turns([(0.0, 1.0, 7), (0.5, 2.0, 2), (3.0, 4.0, 7)]) == {
        7: "SPEAKER_00",
        2: "SPEAKER_01",
    }


def test_who_is_heard_only_in_scraps_is_told():
    found = [(0.0, 3.0, 0), (3.0, 3.3, 1), (4.0, 6.0, 0), (6.0, 6.2, 1), (7.0, 7.6, 2)]
    assert in_scraps(found) == [1]
    assert in_scraps(found, least=2) == [1]
    assert in_scraps(found, least=3) == []
    assert in_scraps([(0.0, 0.3, 0), (1.0, 1.2, 1)]) == []  # there is no more of anybody
    assert in_scraps([]) == []


def test_what_nobody_says_is_a_neighbours_or_nobodys():
    sets = SpeakerSets.from_lists([[0]] * 5 + [[1]] * 2 + [[0]] * 3 + [[1]] * 2, n_speakers=2)
    where = cells(12, 0.1)
    where[10:] += 1.0  # a region of its own
    options = TimelineOptions(min_turn=0.0, min_gap=0.0)
    assert len(turns(where, sets, options)) == 4
    (found,) = turns(where, sets, options, nobody=[1])
    assert found == (0.0, 1.0, 0)


def test_sets_of_a_reference() -> None:
    reference = Annotation()
    for number, (begin, end, label) in enumerate([(0, 2, "a"), (1, 3, "b"), (1, 1.5, "a")]):
        reference[Segment(begin, end), number] = label
    sets = sets_at(reference, np.array([0.0, 1.0, 2.0, 3.0]))
    assert sets.to_lists() == [[0], [0, 1], [1], []]
    assert sets_at(Annotation(), np.array([0.5])).to_lists() == [[]]
