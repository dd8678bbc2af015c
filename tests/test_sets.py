"""SpeakerSets against plain Python sets."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from diarize.clustering import make
from diarize.sets import SpeakerSets, squared_distances

memberships = arrays(bool, array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=9))


def as_sets(sets: SpeakerSets) -> list[frozenset[int]]:
    return [frozenset(row) for row in sets.to_lists()]


def test_the_membership_is_a_private_read_only_copy():
    source = np.zeros((2, 3), dtype=bool)
    sets = SpeakerSets(source)
    source[:] = True
    assert not sets.membership.any()
    with pytest.raises(ValueError):
        sets.membership[0, 0] = True
    with pytest.raises(AttributeError):
        sets.membership = source
    for again in (pickle.loads(pickle.dumps(sets)), copy.deepcopy(sets)):
        assert again == sets
        with pytest.raises(ValueError):
            again.membership[0, 0] = True


def test_zeros_and_ones_are_truth_values_and_nothing_else_is():
    assert SpeakerSets([[0, 1], [1.0, 0]]) == SpeakerSets([[False, True], [True, False]])
    for wrong in ([[0, 2]], [[0.5]], [[np.nan]]):
        with pytest.raises(ValueError, match="neither 0 nor 1"):
            SpeakerSets(wrong)
    for wrong in ([True, False], True, [[[True]]]):
        with pytest.raises(ValueError, match="2-D"):
            SpeakerSets(wrong)


@given(memberships)
def test_lists_round_trip(membership):
    sets = SpeakerSets(membership)
    assert SpeakerSets.from_lists(sets.to_lists(), n_speakers=sets.n_speakers) == sets
    assert [len(row) for row in sets.to_lists()] == sets.sizes.tolist()


def test_from_lists():
    sets = SpeakerSets.from_lists([[0], [0, 2], [], [2, 2]])
    assert sets.membership.tolist() == [
        [True, False, False],
        [True, False, True],
        [False, False, False],
        [False, False, True],
    ]
    assert SpeakerSets.from_lists([]).membership.shape == (0, 0)
    assert SpeakerSets.from_lists([[], []], n_speakers=4).membership.shape == (2, 4)
    with pytest.raises(ValueError, match="too large"):
        SpeakerSets.from_lists([[2]], n_speakers=2)
    with pytest.raises(ValueError, match="negative"):
        SpeakerSets.from_lists([[3, -1]])


def test_from_labels():
    assert SpeakerSets.from_labels([1, -1, 0]).to_lists() == [[1], [], [0]]
    assert SpeakerSets.from_labels(np.array([3, 0], dtype=np.uint8)).n_speakers == 4
    assert SpeakerSets.from_labels([]).membership.shape == (0, 0)
    assert SpeakerSets.from_labels([-5]).membership.shape == (1, 0)
    for wrong in ([0.5], [[1]], ["a"]):
        with pytest.raises(ValueError, match="integers"):
            SpeakerSets.from_labels(wrong)


@given(memberships)
def test_distinct_and_labels_are_those_of_plain_sets(membership):
    sets = SpeakerSets(membership)
    distinct, ids = sets.distinct()
    expected = list(dict.fromkeys(as_sets(sets)))  # in order of first appearance
    assert as_sets(distinct) == expected
    assert ids.tolist() == [expected.index(s) for s in as_sets(sets)]
    assert sets.labels.tolist() == ids.tolist()
    assert distinct[ids] == sets


@pytest.mark.parametrize("k", [8, 63, 64, 65, 200])
def test_distinct_for_many_speakers(k):
    sets = SpeakerSets(np.eye(k, dtype=bool)[[k - 1, 0, k - 1, k // 2]])
    assert sets.labels.tolist() == [0, 1, 0, 2]


@given(st.data())
def test_contingency_counts_pairs_of_sets(data):
    n = data.draw(st.integers(0, 12))
    one, two = (
        SpeakerSets(data.draw(arrays(bool, (n, data.draw(st.integers(0, 3)))))) for _ in range(2)
    )
    rows, columns, counts = one.contingency(two)
    pairs = list(zip(as_sets(one), as_sets(two), strict=True))
    assert counts.tolist() == [
        [pairs.count((r, c)) for c in as_sets(columns)] for r in as_sets(rows)
    ]
    assert counts.sum() == n


def test_contingency_of_different_lengths_is_refused():
    with pytest.raises(ValueError, match="2 and 3 rows"):
        SpeakerSets.from_labels([0, 1]).contingency(SpeakerSets.from_labels([0, 1, 0]))


@given(memberships)
def test_subsumption_is_that_of_plain_sets(membership):
    sets = SpeakerSets(membership)
    plain = as_sets(sets)
    assert sets.subsumption().tolist() == [[i >= j for j in plain] for i in plain]


def test_first_appearance():
    sets = SpeakerSets.from_lists([[], [4, 2], [0], [2]], n_speakers=6)
    assert sets.by_first_appearance().to_lists() == [[], [0, 1], [2], [0]]
    assert sets.by_first_appearance().n_speakers == 3
    assert sets.appearance.tolist() == [2, 4, 0]


@given(memberships)
def test_first_appearance_only_renames(membership):
    sets = SpeakerSets(membership)
    named = sets.by_first_appearance()
    assert named.n_speakers == membership.any(axis=0).sum()
    assert named.by_first_appearance() == named
    assert np.array_equal(named.subsumption(), sets.subsumption())


def test_rows_are_chosen_with_all_columns_kept():
    sets = SpeakerSets.from_lists([[0], [1], [0, 2]])
    assert sets[1:].to_lists() == [[1], [0, 2]]
    assert sets[[2, 2]].to_lists() == [[0, 2], [0, 2]]
    assert sets[np.array([True, False, False])].n_speakers == 3
    with pytest.raises(TypeError):
        sets[0]


def test_equality_and_repr():
    sets = SpeakerSets.from_lists([[0], []])
    assert sets == SpeakerSets.from_lists([[0], []])
    assert sets != SpeakerSets.from_lists([[0], []], n_speakers=2)
    assert sets != [[0], []]
    assert repr(sets) == "SpeakerSets([{0}, {}], n=2, n_speakers=1)"
    assert repr(SpeakerSets.from_labels([0] * 6)).endswith("{0}, {0}], n=6, n_speakers=1)")
    assert repr(SpeakerSets.from_labels([0] * 7)) == (
        "SpeakerSets([{0}, {0}, {0}, {0}, {0}, {0}, ...], n=7, n_speakers=1)"
    )


def test_speakers_are_matched_by_shared_rows() -> None:
    before = SpeakerSets.from_labels([0, 0, 0, 1, 1, 2])
    now = SpeakerSets.from_labels([0, 1, 1, 2, 2, 2])
    assert before.matched(now) == {
        0: 1,
        1: 2,
    }  # 2 and 0 share nothing
    assert before[:0].matched(SpeakerSets(np.zeros((0, 4)))) == {}


def test_speakers_and_where_their_sets_lie() -> None:
    centroids = np.eye(3, 4)
    two = make("ckm", n_speakers=3, compose=np.maximum, random_state=0).fit(
        np.tile(centroids, (4, 1))
    )
    assert len(two.speakers()) == 3 and two.speakers().told is None
    sets = two.speakers().sets()
    assert sets.to_lists() == [[0], [1], [2], [0, 1], [0, 2], [1, 2]]
    np.testing.assert_allclose(two.speakers().places(sets), sets.membership @ two.centroids_)
    nobody = SpeakerSets(np.zeros((1, 3)))
    np.testing.assert_array_equal(two.speakers().places(nobody), np.zeros((1, 4)))
    alone = make("ac", n_speakers=3, max_set_size=3).fit(centroids).speakers()
    assert alone.largest == 1 and len(alone.sets()) == 3  # it knows no compositions
    told = make("oracle", max_set_size=1).fit(centroids, [[0], [1], [0, 1]]).speakers().told
    assert told is not None and told.to_lists() == [[0], [1], [0, 1]]


def test_what_lies_nowhere_is_infinitely_far() -> None:
    rows = np.array([[3.0, 4.0], [1e200, 0.0]])  # whose square is infinite
    with np.errstate(over="ignore"):
        far = squared_distances(rows, np.array([[0.0, 0.0], [np.nan, 0.0]]))
    assert far.tolist() == [[25.0, np.inf], [np.inf, np.inf]]
