"""What is heard live, seen again."""

from __future__ import annotations

from concurrent.futures import Future
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import diarize.streaming.review as module
from diarize.streaming.centroids import LiveCentroids
from diarize.streaming.review import DELAY, FIRST, GROWTH, Reviews


class Live(LiveCentroids):
    def __init__(self) -> None:
        self.taken = 0
        self.learnt: list[tuple[Any, ...]] = []

    def learn(self, *found: Any) -> None:
        self.learnt.append(found)


def test_reviews_come_when_what_was_heard_has_grown_and_are_learnt_after_a_while() -> None:
    live, began = Live(), []

    def look(narrow: bool) -> Future[Any]:
        began.append((heard, narrow))
        result: Future[Any] = Future()
        result.set_result((live.taken, SimpleNamespace(sets_="sets", centroids_=heard)))
        return result

    reviews = Reviews(live, look)
    for heard in np.arange(0, 60, 0.5).tolist():
        live.taken = int(5 * heard)
        reviews.go_on(heard, int(2 * heard), heard > 10, patience=0.0)
    times = [time for time, _ in began]
    assert times[0] == FIRST / 2 and all(b >= GROWTH * a for a, b in pairwise(times))
    assert len(times) == 7 and [narrow for _, narrow in began] == [time > 10 for time in times]
    assert live.learnt == [(int(5 * t), "sets", t, int(5 * t)) for t in times]
    assert DELAY == 1.0


def test_what_was_heard_long_ago_is_not_looked_at_again() -> None:
    began: list[int] = []

    def look(_narrow: bool) -> Future[Any]:
        result: Future[Any] = Future()
        result.set_result((None, SimpleNamespace(sets_=None, centroids_=None)))
        began.append(n)
        return result

    reviews = Reviews(Live(), look)
    for n in range(0, 20000, 10):
        reviews.go_on(n / 2, n, False, patience=0.0)
    assert {b - a for a, b in pairwise(began) if a > 2 * module.LAST} == {module.LAST // 2}


def test_a_review_that_is_late_is_learnt_when_it_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST", 0.0)
    live, result = Live(), Future[Any]()
    reviews = Reviews(live, lambda *_: result)
    for heard in (4.0, 5.0, 6.0):
        reviews.go_on(heard, 100, False, patience=0.0)
    assert not live.learnt
    result.set_result(("rows", SimpleNamespace(sets_="sets", centroids_="centroids")))
    reviews.go_on(7.0, 100, False, patience=0.0)
    assert live.learnt == [("rows", "sets", "centroids", 0)]


def test_at_the_end_nobody_wants_the_review_that_is_under_way() -> None:
    result = Future[Any]()
    reviews = Reviews(Live(), lambda _: result)
    reviews.go_on(4.0, 100, False, patience=0.0)
    reviews.end()
    assert result.cancelled()


def test_of_more_streams_than_cores_none_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    began: list[bool] = []

    def look(narrow: bool) -> Future[Any]:
        began.append(narrow)
        return Future()

    streams = [Reviews(Live(), look) for _ in range(3)]
    monkeypatch.setattr(module, "STREAMS", len(Reviews.going_on) - 1)
    streams[0].go_on(10.0, 100, False, patience=0.0)
    assert not began
    streams[2].end()
    streams[0].go_on(11.0, 100, False, patience=0.0)
    assert len(began) == 1
