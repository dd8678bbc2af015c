from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest
from pyannote.core import Annotation, Segment

from diarize.cli.listening import JsonLines, RttmLines, listen
from diarize.cli.messages import note
from diarize.errors import InputError
from diarize.formats import read_rttm
from diarize.streaming import Turn

SECOND = np.zeros(10, np.float32)  # of the source below


class Diarizer:
    """Ten samples a second, of each of which it says one turn; the end takes one more."""

    uri = "talk"
    options: ClassVar[dict[str, Any]] = {}
    certainty = None

    def __init__(self) -> None:
        self.seconds = self.decided = 0.0
        self.live_turns = SimpleNamespace(turns=[])
        self.settled: list[Turn] = []
        self.caught_up: list[float] = []
        self.interrupt = False

    def newly_merged(self) -> dict[str, str]:
        return {}

    def push(self, samples: np.ndarray) -> list[Turn]:
        turn = Turn(self.seconds, self.seconds + len(samples) / 10, ("LIVE_00",), False)
        self.seconds = turn.end
        self.live_turns.turns.append(turn[:3])
        return [turn]

    def catch_up(self, until: float) -> list[Turn]:
        self.caught_up.append(until)
        self.decided = max(until, self.decided)
        return []

    def end(self) -> list[Turn]:
        return [Turn(self.seconds, self.seconds + 1, ("LIVE_01",), False)]

    def finish(self) -> Annotation:
        if self.interrupt:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(9)  # another thread may have taken it: until it arrives here
        self.settled = [Turn(0.0, self.seconds, ("SPEAKER_00",), True)]
        return self._annotation("SPEAKER_00")

    def live(self) -> Annotation:
        return self._annotation("LIVE_00")

    def _annotation(self, name: str) -> Annotation:
        annotation = Annotation(uri="talk")
        if self.seconds:
            annotation[Segment(0, self.seconds)] = name
        return annotation

    def speaker_map(self) -> dict[str, str | None]:
        return {"LIVE_00": "SPEAKER_00", "LIVE_01": None}


def run(
    source: Iterator[np.ndarray], diarizer: Any = None, sink: Any = None, **options: Any
) -> int:
    sink = contextlib.nullcontext(JsonLines() if sink is None else sink)
    given = {"latency": 9.0, "out": None, "note": note, **options}
    return listen(diarizer or Diarizer(), source, sink, **given)


def test_lines_the_map_and_the_result(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "talk.rttm"
    assert run(iter([SECOND] * 2), out=out) == 0
    captured = capsys.readouterr()
    *lines, names = [json.loads(line) for line in captured.out.splitlines()]
    assert lines == [
        {"start": 0.0, "end": 1.0, "speakers": ["LIVE_00"], "final": False},
        {"start": 1.0, "end": 2.0, "speakers": ["LIVE_00"], "final": False},
        {"start": 2.0, "end": 3.0, "speakers": ["LIVE_01"], "final": False},
        {"start": 0.0, "end": 2.0, "speakers": ["SPEAKER_00"], "final": True},
    ]
    assert names == {"map": {"LIVE_00": "SPEAKER_00", "LIVE_01": None}}
    assert "LIVE_00 is SPEAKER_00" in captured.err and "LIVE_01 is nobody" in captured.err
    assert read_rttm(out)["talk"].labels() == ["SPEAKER_00"]


def test_rttm_says_what_was_said_live(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "talk.json"
    assert run(iter([SECOND]), sink=RttmLines("talk"), out=out) == 0
    assert capsys.readouterr().out == (
        "SPEAKER talk 1 0.000 1.000 <NA> <NA> LIVE_00 <NA> <NA>\n"
        "SPEAKER talk 1 1.000 1.000 <NA> <NA> LIVE_01 <NA> <NA>\n"
    )
    assert json.loads(out.read_text())["speakers"][0]["speaker"] == "SPEAKER_00"


@pytest.mark.parametrize(
    ("number", "endless", "status"),
    [(signal.SIGINT, False, 130), (signal.SIGTERM, False, 143), (signal.SIGINT, True, 0)],
)
def test_a_signal_ends_it_well(
    number: int, endless: bool, status: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def source() -> Iterator[np.ndarray]:
        yield SECOND
        time.sleep(0.3)  # until it was heard
        os.kill(os.getpid(), number)
        while True:
            yield SECOND

    before = signal.getsignal(number)
    out = tmp_path / "talk.rttm"
    assert run(source(), out=out, endless=endless) == status
    assert signal.getsignal(number) is before
    assert read_rttm(out)["talk"]
    assert all(json.loads(line) for line in capsys.readouterr().out.splitlines())


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts, also where the tests were started in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupt_twice() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    while signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(9)


class Interrupted(Diarizer):
    """Somebody cannot wait while it works."""

    def __init__(self, during: str) -> None:
        super().__init__()
        self.during = during

    def push(self, samples: np.ndarray) -> list[Turn]:
        if self.during == "push" and self.seconds:
            interrupt_twice()
        return super().push(samples)

    def end(self) -> list[Turn]:
        if self.during == "end":
            interrupt_twice()
        return super().end()

    def speaker_map(self) -> dict[str, str | None]:
        if self.during == "map":
            interrupt_twice()
        return super().speaker_map()


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("during", "who"), [("push", "LIVE_00"), ("end", "LIVE_00"), ("map", "SPEAKER_00")]
)
def test_a_second_signal_loses_nothing_whenever_it_comes(
    during: str, who: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "talk.rttm"
    assert run(iter([SECOND] * 2), Interrupted(during), out=out) == 130
    assert read_rttm(out)["talk"].labels() == [who]
    assert ("what was said live" in capsys.readouterr().err) == (who == "LIVE_00")


@pytest.mark.usefixtures("interruptible")
def test_a_second_signal_spares_the_last_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    diarizer, out = Diarizer(), tmp_path / "talk.rttm"
    diarizer.interrupt = True

    def source() -> Iterator[np.ndarray]:
        yield SECOND
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)
        while True:
            yield SECOND

    assert run(source(), diarizer, out=out) == 130
    assert read_rttm(out)["talk"].labels() == ["LIVE_00"]
    assert "what was said live" in capsys.readouterr().err


class Closed:
    """Lines that nobody reads."""

    def __init__(self) -> None:
        self.n = 0

    def show(self, turns: Sequence[Turn], heard: float, decided: float) -> None:
        self.n += 1
        raise BrokenPipeError

    def rename(self, names: dict[str, str]) -> None:
        raise BrokenPipeError

    def tell_map(self, names: dict[str, str | None]) -> None:
        raise BrokenPipeError


def test_a_closed_pipe_ends_it_and_the_result_is_written(tmp_path: Path) -> None:
    sink, out = Closed(), tmp_path / "talk.rttm"
    with pytest.raises(BrokenPipeError):
        run(iter([SECOND] * 100), sink=sink, out=out)
    assert sink.n == 1 and read_rttm(out)["talk"]
    with pytest.raises(BrokenPipeError):
        run(iter([SECOND] * 100), sink=Closed())


@pytest.mark.parametrize("problem", [InputError("damaged"), OSError(5, "damaged")])
def test_sound_that_cannot_be_used_ends_it_and_what_came_before_is_written(
    problem: Exception, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def source() -> Iterator[np.ndarray]:
        yield SECOND
        raise problem

    out = tmp_path / "talk.rttm"
    with pytest.raises(type(problem), match="damaged"):
        run(source(), out=out)
    said = capsys.readouterr()
    assert read_rttm(out)["talk"] and len(said.out.splitlines()) == 4
    assert "talk.rttm: holds what came before, 1.0 s" in said.err


def test_a_source_that_stalls_is_caught_up_with() -> None:
    def source() -> Iterator[np.ndarray]:
        yield SECOND
        time.sleep(0.4)

    diarizer = Diarizer()
    run(source(), diarizer, latency=0.1)
    assert diarizer.caught_up[-1] == 1.0 or 1.0 in diarizer.caught_up
