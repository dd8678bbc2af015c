from __future__ import annotations

import gc
import tempfile
import threading
from itertools import count, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import soundfile
from hypothesis import given, settings
from hypothesis import strategies as st

from diarize import StreamingDiarizer
from diarize.activity import NetworkActivity, SileroActivity
from diarize.errors import InputError
from diarize.formats import rttm_text
from diarize.streaming import Turn, history
from diarize.streaming.refinement import Refinement
from diarize.streaming.timing import MARGIN
from diarize.timeline import TimelineOptions

RATE = 16_000


@pytest.fixture(scope="module")
def sound(talk: Path) -> np.ndarray:
    return soundfile.read(talk, dtype="float32")[0]


def feed(diarizer: StreamingDiarizer, samples: np.ndarray, sizes: list[int]) -> list[Turn]:
    turns, begin, i = [], 0, 0
    while begin < len(samples):
        size = sizes[i % len(sizes)]
        turns += diarizer.push(samples[begin : begin + size])
        begin, i = begin + size, i + 1
    return turns + diarizer.end()


@pytest.fixture(scope="module")
def begun(sound: np.ndarray) -> np.ndarray:
    return sound[: 7 * RATE]


@pytest.fixture(scope="module")
def whole(begun: np.ndarray) -> tuple[list[Turn], str]:
    diarizer = StreamingDiarizer(RATE)
    turns = feed(diarizer, begun, [len(begun)])
    return turns, rttm_text(diarizer.finish())


@settings(max_examples=5)
@given(st.lists(st.sampled_from([1, 7, 511, 1601, 9999, 50_001]), min_size=2, max_size=4))
def test_blocks_make_no_difference(
    begun: np.ndarray, whole: tuple[list[Turn], str], sizes: list[int]
) -> None:
    if max(sizes) < 500:
        sizes = [*sizes, 4001]  # a block of a few samples at a time takes for ever
    diarizer = StreamingDiarizer(RATE)
    assert feed(diarizer, begun, sizes) == whole[0]
    assert rttm_text(diarizer.finish()) == whole[1]


@pytest.mark.usefixtures("whole")  # who checks types holds the first stream's functions
def test_a_stream_that_nobody_holds_leaves_no_file(
    begun: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = []

    def remembered() -> Any:
        files.append(tempfile.TemporaryFile())  # noqa: SIM115 - closed with its object
        return files[-1]

    monkeypatch.setattr(history, "tempfile", SimpleNamespace(TemporaryFile=remembered))
    gc.disable()  # whoever serves many streams makes little garbage, which is seldom looked for
    try:
        for refine, sound in ((None, begun[: 4 * RATE]), (5.0, np.tile(begun, 2))):
            diarizer = StreamingDiarizer(RATE, refine=refine)
            feed(diarizer, sound, [RATE])
            diarizer.finish()
            del diarizer
        assert len(files) == 8 and all(file.closed for file in files)
    finally:
        gc.enable()


def test_what_was_said_can_be_asked(begun: np.ndarray) -> None:
    diarizer = StreamingDiarizer(RATE)
    assert diarizer.said == []
    turns = feed(diarizer, begun[: 4 * RATE], [RATE])
    (begin, end, speakers), *more = diarizer.said
    assert (begin, speakers, more) == (turns[0].start, turns[0].speakers, [])
    assert end == turns[-1].end and len(turns) > 1


def test_turns_follow_each_other(whole: tuple[list[Turn], str]) -> None:
    turns, _ = whole
    assert turns
    for before, after in pairwise(turns):
        assert before.end <= after.start
    for turn in turns:
        assert 0 <= turn.start < turn.end <= 7.0 and not turn.final
        assert turn.speakers == tuple(sorted(set(turn.speakers)))


@pytest.mark.parametrize(
    ("latency", "rate"), [(0.5, RATE), (0.5, 44_100), (1.0, 44_100), (2.0, RATE), (5.0, RATE)]
)
def test_the_promise_is_kept(talk: Path, sound: np.ndarray, latency: float, rate: int) -> None:
    import soxr

    samples = sound if rate == RATE else soxr.resample(sound, RATE, rate).astype(np.float32)
    diarizer = StreamingDiarizer(rate, latency=latency)
    n = 0
    for begin in range(0, len(samples), rate // 20):
        turns = diarizer.push(samples[begin : begin + rate // 20])
        n += len(turns)
        for turn in turns:  # 50 ms are the block itself
            assert diarizer.seconds - turn.start <= latency - MARGIN + 0.05 + 1e-6
        # What has been passed over, nothing will be said of.
        assert diarizer.seconds - diarizer.decided <= latency
    assert n >= 4


def test_a_stream_that_stalls_is_caught_up_with(sound: np.ndarray) -> None:
    diarizer = StreamingDiarizer(RATE, latency=5.0)
    assert diarizer.push(sound[: 4 * RATE]) == []
    turns = diarizer.catch_up(3.0)
    assert turns and turns[-1].end == pytest.approx(3.0, abs=0.25)
    assert diarizer.catch_up(3.0) == []
    assert diarizer.catch_up(2.0) == []
    rest = feed(diarizer, sound[4 * RATE :], [8000])
    assert rest[0].start >= turns[-1].end
    assert diarizer.finish().labels()
    assert diarizer.catch_up(99.0) == []


def test_the_end_is_as_good_as_a_recordings(sound: np.ndarray, talk: Path) -> None:
    from pyannote.core import Segment, Timeline

    from diarize import Diarizer
    from diarize.scoring import score_files

    diarizer = StreamingDiarizer(RATE, uri="talk")
    diarizer.push(sound)
    assert diarizer.certainty is None
    found, expected = diarizer.finish(), Diarizer()(talk)
    assert diarizer.certainty is not None
    assert set(diarizer.certainty.confidence) == set(found.itertracks())
    assert sum(diarizer.certainty.number.values()) == pytest.approx(1)
    several = diarizer.several()
    assert several is not None and ((several >= 0) & (several <= diarizer.seconds)).all()
    report = score_files(
        {"talk": expected}, {"talk": found}, uem={"talk": Timeline([Segment(0, 12)])}
    )
    assert report.total.der is not None and report.total.der < 0.15
    assert set(diarizer.speaker_map().values()) <= {*found.labels(), None}
    assert diarizer.live().uri == "talk"


def test_history_is_settled_meanwhile(begun: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    # Sound is far ahead of the clock: a busy machine puts no pass off.
    clock = count(start=0, step=-1000)
    monkeypatch.setattr("diarize.streaming.diarizer.monotonic", lambda: next(clock))
    diarizer = StreamingDiarizer(RATE, refine=5.0)
    long = np.tile(begun, 2)
    final: list[Turn] = []
    for begin in range(0, len(long), 4000):
        final += [turn for turn in diarizer.push(long[begin : begin + 4000]) if turn.final]
    early = list(diarizer.settled)
    annotation = diarizer.finish()
    assert early and diarizer.settled[: len(early)] == early
    assert final == early[: len(final)]
    for before, after in pairwise(diarizer.settled):
        assert before.end <= after.start
    assert annotation.labels() == [f"SPEAKER_{i:02d}" for i in range(len(annotation.labels()))]
    assert annotation.get_timeline().duration() > 0
    assert diarizer.certainty is None  # it was settled in parts
    again = StreamingDiarizer(RATE, refine=5.0)
    again.push(long)
    assert rttm_text(again.finish()) == rttm_text(annotation)


def test_what_is_said_live_waits_for_no_pass(
    sound: np.ndarray, monkeypatch: pytest.MonkeyPatch, passes_go_on: threading.Event
) -> None:
    """Of sound that comes as it is spoken, by a clock that the test keeps; all is settled."""
    now = [1000.0]
    monkeypatch.setattr("diarize.streaming.review.LEAST", 0.0)  # nor for a look back
    monkeypatch.setattr("diarize.streaming.diarizer.monotonic", lambda: now[0])
    diarizer = StreamingDiarizer(RATE, latency=2.0, refine=5.0)
    long = np.tile(sound, 2)[: 17 * RATE]
    with pytest.warns(RuntimeWarning, match="hindsight takes longer than its 5 s"):
        for begin in range(0, len(long), 4000):
            now[0] = 1000.0 + begin / RATE
            turns = diarizer.push(long[begin : begin + 4000])
            assert not any(turn.final for turn in turns)
    assert diarizer.decided >= len(long) / RATE - 2.0
    passes_go_on.set()
    assert rttm_text(diarizer.finish()).count("\n") > 2
    plain = StreamingDiarizer(RATE)
    feed(plain, long, [4000])
    spoken = [d.finish().get_timeline().support().duration() for d in (diarizer, plain)]
    assert spoken[0] == pytest.approx(spoken[1], abs=0.5)


def test_a_stream_that_stalls_is_told_what_is_settled(
    sound: np.ndarray, monkeypatch: pytest.MonkeyPatch, passes_go_on: threading.Event
) -> None:
    monkeypatch.setattr("diarize.streaming.review.LEAST", 0.0)
    clock = count(start=0, step=1000)  # sound is never ahead of it: no review is waited for
    monkeypatch.setattr("diarize.streaming.diarizer.monotonic", lambda: next(clock))
    diarizer = StreamingDiarizer(RATE, refine=5.0)
    assert not diarizer.settling
    diarizer.push(sound[: 11 * RATE])
    assert diarizer.settling and not any(turn.final for turn in diarizer.catch_up(0.0))
    passes_go_on.set()
    found: list[Turn] = []
    while diarizer.settling:
        found += diarizer.catch_up(0.0)
    assert found == diarizer.settled and all(turn.final for turn in found) and found


def test_the_end_waits_for_no_review(sound: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, ended = threading.Event(), threading.Event()

    def slow(*_: Any) -> None:
        assert go_on.wait(60)
        ended.set()

    monkeypatch.setattr(Refinement, "_review", slow)
    monkeypatch.setattr("diarize.streaming.refinement.PASSES", threading.BoundedSemaphore(1))
    monkeypatch.setattr("diarize.streaming.review.LEAST", 0.0)
    clock = count(start=0, step=1000)
    monkeypatch.setattr("diarize.streaming.diarizer.monotonic", lambda: next(clock))
    diarizer = StreamingDiarizer(RATE, refine=5.0)
    diarizer.push(sound[: 11 * RATE])
    assert diarizer.settling  # a pass, too, waits behind it
    assert diarizer.finish().labels() and not go_on.is_set()
    go_on.set()
    assert ended.wait(60)


def test_silence_says_nothing() -> None:
    diarizer = StreamingDiarizer(RATE)
    for _ in range(5):
        assert diarizer.push(np.zeros(4 * RATE, np.float32)) == []
        assert len(diarizer._windows._frames._held) < 1000 and not diarizer._activity.regions.found
    assert diarizer.decided > 17
    annotation = diarizer.finish()
    assert not annotation and annotation.uri == "stream"
    assert diarizer.speaker_map() == {}


@pytest.mark.parametrize("n", [0, 1, 100, 511, 8000])
def test_hardly_any_sound(n: int) -> None:
    diarizer = StreamingDiarizer(RATE)
    diarizer.push(np.random.default_rng(0).normal(0, 0.1, n).astype(np.float32))
    assert diarizer.finish() is diarizer.finish()
    assert diarizer.end() == []


def test_speakers_can_be_bound(sound: np.ndarray) -> None:
    for n, refine in ((1, None), (2, None), (3, 5.0)):
        diarizer = StreamingDiarizer(RATE, n_speakers=n, refine=refine)
        feed(diarizer, sound, [8000])
        assert len(diarizer.finish().labels()) == n


def test_links_can_settle_and_overlap_can_be_left_out(sound: np.ndarray) -> None:
    diarizer = StreamingDiarizer(
        RATE, max_set_size=1, live="links", refine_backend="links", params={"T_c": 0.45}
    )
    turns = diarizer.push(sound)
    assert turns and all(len(turn.speakers) == 1 for turn in turns)
    assert not diarizer.finish().get_overlap()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"rate": 10}, "rate"),
        ({"latency": 0.2}, "cannot be promised"),
        ({"rate": 1000, "latency": 1.0}, "cannot be promised"),
        ({"refine": 1.0}, "refine"),
        ({"refine_backend": "oracle"}, "true turns"),
        ({"refine_backend": "nobody"}, "nobody"),
        ({"live": "links", "params": {"T_c": 7.0}}, "T_c"),
        ({"live": "links", "params": {"threshold": 1}}, "threshold"),
        ({"live": "nobody"}, "live nobody: not one of ckm, links"),
        ({"params": {"count_penalty": 0.0}}, "count_penalty"),
        ({"params": {"threshold": 1}}, "threshold"),
        ({"max_set_size": 0}, "max_set_size"),
        ({"n_speakers": 2, "min_speakers": 3}, "min_speakers"),
        ({"model": "nothing"}, "no such model"),
    ],
)
def test_unusable_options(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        StreamingDiarizer(**options)


def test_results_tell_what_was_asked_for(tiny_weights: Path) -> None:
    asked = {"n_speakers": 2, "activity": SileroActivity(threshold=0.2)}
    timeline = TimelineOptions(min_gap=0.5)
    plain = StreamingDiarizer(model=tiny_weights, activity=NetworkActivity()).options
    told = StreamingDiarizer(model=tiny_weights, timeline=timeline, **asked).options
    added = {name: value for name, value in told.items() if name not in plain}
    assert added == {**asked, "activity": repr(asked["activity"]), "min_gap": 0.5}


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"refine_backend": "nobody"}, "there is no backend 'nobody'"),
        ({"n_speakers": 0}, "n_speakers must be"),
        ({"min_speakers": 3, "max_speakers": 2}, "min_speakers=3"),
        ({"seed": -1}, "must be a seed or a generator, got -1"),
        ({"live": "links", "params": {"T_c": 7.0}}, "T_c"),
        ({"live": "links", "params": {"compose": 1}}, "no option 'compose'"),
    ],
)
def test_what_the_clusterings_refuse_is_an_input_error(
    options: dict[str, Any], reason: str
) -> None:
    with pytest.raises(InputError, match=reason):
        StreamingDiarizer(**options)


def test_an_ended_stream_takes_no_more(sound: np.ndarray) -> None:
    diarizer = StreamingDiarizer(RATE)
    diarizer.finish()
    with pytest.raises(InputError, match="has ended"):
        diarizer.push(sound)
