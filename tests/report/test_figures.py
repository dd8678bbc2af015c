from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyannote.core import Annotation

from diarize.report.figures import talk_figures

from ..making import annotation

Turns = list[tuple[int, int, str]]
turns = st.lists(
    st.tuples(st.integers(0, 30), st.integers(1, 9), st.sampled_from("abcd")).map(
        lambda turn: (turn[0], turn[0] + turn[1], turn[2])
    ),
    max_size=12,
)


@given(turns)
def test_figures_are_those_of_counting_second_by_second(turns: Turns) -> None:
    found = talk_figures(annotation(*turns))
    order = sorted(turns)
    names = list(dict.fromkeys(speaker for _, _, speaker in order))
    assert found.speakers == tuple(names)
    seconds = range(min((t[0] for t in turns), default=0), max((t[1] for t in turns), default=0))
    heard = [{who for start, end, who in turns if start <= now < end} for now in seconds]
    for i, name in enumerate(names):
        assert found.talk[i] == pytest.approx(sum(name in now for now in heard))
        assert found.alone[i] == pytest.approx(sum(now == {name} for now in heard))
        assert found.turns[i] == sum(who == name for _, _, who in turns)
    for size, time in enumerate(found.at_once):
        assert time == pytest.approx(sum(len(now) == size for now in heard))
    counted = np.zeros_like(found.follows)
    for (_, _, before), (_, _, after) in pairwise(order):
        counted[names.index(before), names.index(after)] += 1
    assert np.array_equal(found.follows, counted)


def test_the_order_is_that_of_appearance() -> None:
    found = talk_figures(annotation((0, 2, "zoe"), (1, 3, "ann"), (5, 6, "zoe")))
    assert found.speakers == ("zoe", "ann")
    assert found.talk.tolist() == [3, 2]
    assert found.alone.tolist() == [2, 1]
    assert found.at_once.tolist() == [2, 3, 1]
    assert found.follows.tolist() == [[0, 1], [1, 0]]


def test_nothing_said_has_no_figures() -> None:
    found = talk_figures(Annotation())
    assert found.speakers == ()
    assert found.at_once.tolist() == [0]
    assert found.follows.shape == (0, 0)
