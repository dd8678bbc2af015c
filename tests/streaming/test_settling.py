from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from diarize import clustering
from diarize.embedding import Knowledge
from diarize.streaming.settling import Settler
from diarize.timeline import TimelineOptions


def voices(order: str, seed: int = 0) -> np.ndarray:
    """One unit vector for each letter, near that of its speaker."""
    rng = np.random.default_rng(seed)
    rows = np.stack([np.eye(16)["abc".index(letter)] for letter in order])
    rows = rows + rng.normal(0, 0.02, rows.shape)
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def cells(n: int) -> np.ndarray:
    return np.arange(n)[:, None] + np.array([0.0, 1.0])


def tree() -> Any:
    return clustering.make("ac", max_set_size=1, distance_threshold=0.5)


def test_the_whole_is_settled_at_once() -> None:
    vectors = voices("aaabbbaa")
    settle = Settler(TimelineOptions()).settle
    heard = cells(8), vectors, None
    found = settle(tree(), Knowledge(), vectors, heard, vectors, 0.0, np.inf)
    assert [names for _, _, names in found] == [("SPEAKER_00",), ("SPEAKER_01",), ("SPEAKER_00",)]
    assert found[0][:2] == pytest.approx((0, 3), abs=0.3)


@pytest.mark.parametrize("d", [1, 2])
def test_a_gap_is_closed_only_where_there_may_be_overlap(d: int) -> None:
    vectors, options = voices("aaabaaa"), TimelineOptions(switch=0.0, min_turn=0.0, min_gap=2.0)

    ckm = clustering.make("ckm", n_speakers=2, max_set_size=d, compose=np.maximum)
    settle = Settler(options).settle
    heard = cells(7), vectors, None
    found = settle(ckm, Knowledge(), vectors, heard, vectors, 0.0, np.inf)
    assert max(len(names) for _, _, names in found) == d


def test_speakers_keep_their_names_from_pass_to_pass() -> None:
    settler = Settler(TimelineOptions())
    order = "aaaabbbbaaaaccccbbbb"
    vectors, times = voices(order), cells(20)
    found = []
    for begin, end, n in ((0.0, 4.0, 8), (4.0, 10.0, 14), (10.0, np.inf, 20)):
        first = max(0, int(begin) - 3)
        heard = times[first:n], vectors[first:n], None
        found += settler.settle(tree(), Knowledge(), vectors[:n], heard, heard[1], begin, end)
    said = [""] * 20
    for begin, end, (name,) in found:
        for second in range(round(begin), round(end)):
            said[second] = name[-1]
    assert "".join(said) == order.translate(str.maketrans("abc", "012"))
    for (_, end, _), (begin, _, _) in pairwise(found):
        assert begin >= end


@pytest.mark.parametrize(("most", "names"), [(2, "01"), (None, "012")])
def test_no_more_are_named_than_there_may_be(most: int | None, names: str) -> None:
    """Two who are two at first are one beside a third, who takes the name that is left."""
    vectors = voices("aabbcccc")
    vectors[:4] = 0.9 * vectors[[0, 0, 0, 0]] + 0.4 * vectors[:4]

    def two() -> Any:
        return clustering.make("ac", n_speakers=2, max_set_size=1)

    settler = Settler(TimelineOptions(), most=most)
    found = []
    for n, begin, end in ((4, 0.0, 4.0), (8, 4.0, np.inf)):
        heard = cells(n), vectors[:n], None
        found += settler.settle(two(), Knowledge(), vectors[:n], heard, vectors[:n], begin, end)
    assert "".join(sorted({name[-1] for *_, (name,) in found})) == names
    assert next(name for *_, (name,) in found) == "SPEAKER_00"


def test_nothing_was_heard() -> None:
    settler = Settler(TimelineOptions())
    nothing = np.zeros((0, 16), np.float32)
    heard = np.zeros((0, 2)), nothing, None
    assert settler.settle(tree(), Knowledge(), nothing, heard, nothing, 0.0, 5.0) == []
    assert settler.settle(tree(), Knowledge(), nothing, heard, nothing, 5.0, np.inf) == []
    vectors = voices("aab")
    heard = cells(3) + 9, vectors, None
    assert settler.settle(tree(), Knowledge(), vectors, heard, vectors, 9.0, np.inf)
