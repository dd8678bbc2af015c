"""Passes over the past of a stream."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import diarize.streaming.refinement as module
from diarize.embedding import Knowledge
from diarize.embedding.windows import place_windows
from diarize.errors import InputError
from diarize.scatter import Likeness, Scatter
from diarize.streaming.refinement import Refinement, spread
from diarize.streaming.settling import Settler
from diarize.timeline import TimelineOptions

from ..making import unit_mean

FREE = {"n_speakers": None, "min_speakers": None, "max_speakers": None}
KNOWN = Knowledge(
    scatter=Scatter(variance=0.001, dimension=4.0, alike=0.9), likeness=Likeness(scarcity=0.0)
)
COMMON = {"max_set_size": 1, "compose": unit_mean, "random_state": 0}


def refinement(
    refine: float | None = None, backend: str = "ac", **bounds: int | None
) -> Refinement:
    return Refinement(backend, COMMON, FREE | bounds, TimelineOptions(), KNOWN, 4, refine)


def hear(stream: Refinement, begin: int, end: int) -> None:
    """Windows a second apart: two voices, ten seconds each in turn."""
    seconds = np.arange(begin, end, dtype=np.float64)
    vectors = np.eye(4, dtype=np.float32)[(seconds // 10 % 2).astype(int)]
    cells = np.stack([seconds, seconds + 1], axis=1)
    for spool in (stream.coarse, stream.fine, stream.short):
        spool.add(cells, vectors)


def test_all_is_settled_at_the_end() -> None:
    stream = refinement()
    hear(stream, 0, 40)
    assert not stream.is_due(1e9) and not stream.collect() and not stream.turns
    stream.finish(narrow=False)
    names = ("SPEAKER_00", "SPEAKER_01")
    assert [(t.start, t.end, t.speakers) for t in stream.turns] == [
        (10.0 * i, 10.0 * i + 10, (names[i % 2],)) for i in range(4)
    ]
    assert all(turn.final for turn in stream.turns)


def test_passes_of_several_streams_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PASSES", threading.BoundedSemaphore(1))
    settle, inside, most = Settler.settle, [], []

    def watched(self: Settler, *heard: Any) -> Any:
        inside.append(self)
        most.append(len(inside))
        try:
            return settle(self, *heard)
        finally:
            inside.remove(self)

    monkeypatch.setattr(Settler, "settle", watched)
    streams = [refinement(10.0) for _ in range(3)]
    for stream in streams:
        hear(stream, 0, 40)
        stream.go_on(40.0, narrow=False)
    for stream in streams:
        stream.finish(narrow=False)
    assert len(most) == 6 and max(most) == 1


def test_a_review_that_nobody_wants_keeps_no_pass_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PASSES", threading.BoundedSemaphore(1))
    go_on, begun, ended = threading.Event(), threading.Event(), threading.Event()
    reviewed: list[int] = []

    def slow(*heard: Any) -> None:
        reviewed.append(len(heard[1]))
        begun.set()
        assert go_on.wait(60)
        ended.set()

    monkeypatch.setattr(Refinement, "_review", slow)
    stream, other = refinement(), refinement()
    for one in (stream, other):
        hear(one, 0, 40)
    running = stream.review(narrow=False, most=2)
    assert begun.wait(60)
    waiting = other.review(narrow=False, most=2)
    assert running.cancel() and waiting.cancel()
    for one in (stream, other):
        one.finish(narrow=False)
        assert len(one.turns) == 4
    go_on.set()
    assert ended.wait(60) and reviewed == [40]
    assert module.PASSES.acquire(timeout=60)  # and it was given back once


def test_a_review_looks_at_what_was_heard_last(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST", 15)
    stream = refinement()
    hear(stream, 0, 40)
    vectors, found = stream.review(narrow=False, most=3).result(60)
    assert (vectors == stream.coarse.read(25)[1]).all() and found.n_speakers_ == 2


def test_of_long_speech_as_many_windows_are_clustered_as_of_a_recording(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where all is settled at once; passes that follow each other compare theirs one by one."""
    settle, clustered = Settler.settle, []

    def watched(self: Settler, *heard: Any) -> Any:
        estimator, _, coarse, *_ = heard
        clustered.append((len(coarse), estimator.scatter.rows_per_observation))
        return settle(self, *heard)

    monkeypatch.setattr(Settler, "settle", watched)
    monkeypatch.setattr("diarize.embedding.embedded.CLUSTERED", 50.0)
    known = replace(KNOWN, scatter=replace(KNOWN.scatter, rows_per_observation=8.0))
    seconds = np.arange(240) / 2
    seconds = seconds[seconds % 12 < 10]  # ten regions of ten seconds
    cells = np.stack([seconds, seconds + 0.5], axis=1)
    vectors = np.eye(4, dtype=np.float32)[(seconds // 12 % 2).astype(int)]
    for refine in (None, 60.0):
        stream = Refinement("ac", COMMON, FREE, TimelineOptions(), known, 4, refine)
        for spool in (stream.coarse, stream.fine, stream.short):
            spool.add(cells, vectors)
        if refine:
            stream.go_on(120.0, narrow=False)
        stream.finish(narrow=False)
        assert {(t.start, t.speakers) for t in stream.turns if t.start % 12 == 0} == {
            (12.0 * i, (f"SPEAKER_{i % 2:02d}",)) for i in range(10)
        }
    regions = np.arange(10)[:, None] * 12 + np.array([0.0, 10.0])
    as_a_recording = len(place_windows(regions, known.window, 1.0)[0])
    assert clustered == [(as_a_recording, 4.0), (200, 8.0), (200, 8.0)]


def test_of_half_an_hour_of_speech_all_windows_are_clustered() -> None:
    cells = np.arange(3600)[:, None] / 2 + np.array([0.0, 0.5])
    rows, step = spread(cells, KNOWN)
    assert (rows == np.arange(3600)).all() and step == KNOWN.step
    rows, step = spread(np.concatenate([cells, cells + 1800.0]), KNOWN)
    assert len(rows) == 3600 and step == 1.0
    assert len(spread(cells[:0], KNOWN)[0]) == 0


def test_a_pass_does_not_keep_the_program_from_ending(monkeypatch: pytest.MonkeyPatch) -> None:
    daemons: list[bool] = []

    def watched(self: Settler, *heard: Any) -> Any:
        daemons.append(threading.current_thread().daemon)
        raise InputError("no use")

    monkeypatch.setattr(Settler, "settle", watched)
    stream = refinement(10.0)
    hear(stream, 0, 40)
    stream.go_on(40.0, narrow=False)
    with pytest.raises(InputError, match="no use"):
        stream.finish(narrow=False)
    assert daemons == [True]


def test_a_pass_goes_by_how_many_were_heard() -> None:
    """Two voices so near each other's mean that nothing else tells whether both speak."""
    for heard, most in ((1, 1), (2, 2)):
        stream = Refinement(
            "ckm",
            COMMON | {"max_set_size": 2},
            FREE | {"n_speakers": 2},
            TimelineOptions(),
            KNOWN,
            4,
        )
        hear(stream, 0, 40)
        middle = unit_mean(np.eye(4)[0], unit_mean(np.eye(4)[0], np.eye(4)[1])).astype(np.float32)
        for spool in (stream.fine, stream.short):
            spool.add(np.array([[40.0, 41.0]]), middle[None])
        for n, times in ((1, 40 * 50), (heard, 50)):
            counts = np.tile(np.eye(4, dtype=np.float32)[n], (times, 1))
            stream.counts.add(counts, counts)
        stream.finish(narrow=False)
        assert len(stream.turns[-1].speakers) == most


def test_a_pass_settles_what_is_older_than_its_interval() -> None:
    stream = refinement(refine=15.0)
    hear(stream, 0, 30)
    assert not stream.is_due(29.9) and stream.is_due(30.0)
    stream.go_on(30.0, narrow=False)
    found = stream.collect(wait=True)
    assert found == stream.turns and found[-1].end == 15.0
    assert not stream.is_due(44.9) and stream.is_due(45.0)
    hear(stream, 30, 40)
    stream.finish(narrow=False)
    assert stream.turns[: len(found)] == found
    assert [turn.end for turn in stream.turns] == [10.0, 15.0, 20.0, 30.0, 40.0]
    assert stream.turns[1].speakers == stream.turns[2].speakers == stream.turns[4].speakers


def test_a_pass_that_outlasts_its_interval_puts_the_next_one_off(
    passes_go_on: threading.Event,
) -> None:
    stream = refinement(refine=15.0)
    hear(stream, 0, 75)
    assert stream.is_done(within=0.0)
    stream.go_on(30.0, narrow=False)
    assert not stream.is_done(within=0.0) and stream.collect() == []
    with pytest.warns(RuntimeWarning, match=r"^hindsight takes longer than its 15 s: passes"):
        stream.put_off()
    assert not stream.is_due(59.9) and stream.is_due(60.0)
    stream.put_off()  # said once
    passes_go_on.set()
    assert stream.is_done(within=60.0) and stream.collect()[-1].end == 15.0
    assert stream.is_due(75.0)
    stream.go_on(75.0, narrow=False)
    assert [turn.end for turn in stream.collect(wait=True)] == [20.0, 30.0, 40.0, 50.0, 60.0]


def test_who_is_alike_is_one_but_over_a_telephone() -> None:
    """As in a recording: in a narrow band nearer centroids are two voices."""
    for narrow, speakers in ((False, 1), (True, 2)):
        stream = refinement(n_speakers=None)
        near = np.array([[1.0, 0, 0, 0], [0.92, np.sqrt(1 - 0.92**2), 0, 0]], np.float32)
        seconds = np.arange(40.0)
        cells = np.stack([seconds, seconds + 1], axis=1)
        for spool in (stream.coarse, stream.fine, stream.short):
            spool.add(cells, near[(seconds // 10 % 2).astype(int)])
        stream.finish(narrow)
        assert len({name for turn in stream.turns for name in turn.speakers}) == speakers


def test_no_more_speakers_are_asked_for_than_windows() -> None:
    stream = refinement(n_speakers=3)
    hear(stream, 0, 2)
    stream.finish(narrow=False)
    assert 1 <= len({name for turn in stream.turns for name in turn.speakers}) <= 2


@pytest.mark.parametrize("refine", [4.9, np.inf, np.nan])
def test_an_interval_that_cannot_be_kept_is_refused(refine: float) -> None:
    with pytest.raises(InputError, match="refine is a number of seconds from 5 on"):
        refinement(refine=refine)


def test_options_that_cannot_be_used_are_refused_at_once() -> None:
    with pytest.raises(InputError, match="oracle needs the true turns"):
        refinement(backend="oracle")
    with pytest.raises(ValueError, match="n_speakers"):
        refinement(n_speakers=-1)
