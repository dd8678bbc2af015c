"""The adjusted Rand index against scikit-learn and cases worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from diarize.scoring import adjusted_rand_index
from diarize.sets import SpeakerSets

ROW = st.tuples(st.sets(st.integers(0, 3), max_size=3), st.sets(st.integers(0, 3), max_size=2))


@given(st.lists(ROW, max_size=20))
def test_is_that_of_scikit_learn_where_each_set_is_a_class(
    rows: list[tuple[set[int], set[int]]],
) -> None:
    first = SpeakerSets.from_lists([row[0] for row in rows])
    second = SpeakerSets.from_lists([row[1] for row in rows])
    found = adjusted_rand_index(first, second)
    expected = adjusted_rand_score(first.labels, second.labels)
    assert found == pytest.approx(expected, abs=1e-12)
    assert found == adjusted_rand_index(second, first)


def test_by_hand() -> None:
    # Pairs of rows that are together: 1 and 2 of 6, one of them in both; 1/3 by chance.
    inferred = SpeakerSets.from_lists([[0], [0], [1], [0, 1]])
    truth = SpeakerSets.from_lists([[0, 1], [0, 1], [2], [2]])
    assert adjusted_rand_index(inferred, truth) == pytest.approx((1 - 1 / 3) / (1.5 - 1 / 3))


def test_nothing_to_judge_is_agreement() -> None:
    for lists in ([], [[0]], [[0], [0], [0]], [[0], [1], [0, 1]]):
        sets = SpeakerSets.from_lists(lists)
        assert adjusted_rand_index(sets, sets) == 1


def test_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        adjusted_rand_index(SpeakerSets.from_labels([0]), SpeakerSets.from_labels([0, 1]))


def test_a_million_rows_are_counted_exactly() -> None:
    generator = np.random.default_rng(0)
    truth = generator.integers(5, size=1_000_000)
    inferred = np.where(generator.random(len(truth)) < 0.7, truth, 5 - truth)
    found = adjusted_rand_index(SpeakerSets.from_labels(inferred), SpeakerSets.from_labels(truth))
    assert found == pytest.approx(adjusted_rand_score(truth, inferred), abs=1e-12)
