"""A stream to its end: sound in, lines out, and an end that is clean however it comes."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from diarize.errors import InputError
from diarize.streaming.sources import Blocks
from diarize.streaming.timing import Deadlines
from diarize.streaming.turns import lines_of, map_line, merged_line

if TYPE_CHECKING:
    from pyannote.core import Annotation

    from diarize.streaming import StreamingDiarizer, Turn
    from diarize.timeline.confidence import Certainty

Note = Callable[[str], None]

POLL = 0.1  # seconds after which a request to stop is heeded, at the latest


@runtime_checkable
class Sink(Protocol):
    """Where what is said goes at once."""

    def show(self, turns: Sequence[Turn], heard: float, decided: float) -> None:
        """Say turns; so much sound has come, and so much of it is decided on."""

    def rename(self, names: dict[str, str]) -> None:
        """Say which live names turned out to be one with another, and with which one."""

    def tell_map(self, names: dict[str, str | None]) -> None:
        """Say at the end which speaker each live name is; None: nobody."""


@dataclass(frozen=True)
class JsonLines:
    """One object a line; of turns, those of a millisecond or more."""

    def show(self, turns: Sequence[Turn], heard: float, decided: float) -> None:
        for line in lines_of(turns):
            print(line)
        if turns:
            sys.stdout.flush()

    def rename(self, names: dict[str, str]) -> None:
        print(merged_line(names), flush=True)

    def tell_map(self, names: dict[str, str | None]) -> None:
        print(map_line(names), flush=True)


@dataclass(frozen=True)
class RttmLines:
    """A line for each speaker of a live turn of a millisecond or more; RTTM cannot settle them."""

    uri: str

    def show(self, turns: Sequence[Turn], heard: float, decided: float) -> None:
        from diarize.formats.rttm import rttm_line

        live = [turn for turn in turns if not turn.final]
        for turn in live:
            start, end = round(turn.start, 3), round(turn.end, 3)
            for name in turn.speakers if end > start else ():
                print(rttm_line(self.uri, start, end, name))
        if live:
            sys.stdout.flush()

    def rename(self, names: dict[str, str]) -> None:
        """What was said stays said: RTTM has no word for it."""

    def tell_map(self, names: dict[str, str | None]) -> None:
        """Nor for this."""


class Interruption:
    """The first Ctrl-C or SIGTERM is a request to end well; a second one is not taken in here.

    Attributes:
        number: of the signal that came; 0: none.
    """

    def __init__(self) -> None:
        self.number = 0

    def __enter__(self) -> Interruption:
        self._before = {n: signal.signal(n, self._take) for n in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        self._restore()

    def _take(self, number: int, _frame: FrameType | None) -> None:
        self.number = number
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}


class Session:
    """A diarizer, and where its lines go.

    Attributes:
        failure: what ended the stream before its time, if anything did.
        unheard: whether nobody reads the lines any more.
        result: what is written; None: there is none yet.
        certainty: how sure it is; None: nobody says.
    """

    def __init__(self, diarizer: StreamingDiarizer, lines: Sink, note: Note) -> None:
        self.diarizer, self.lines, self.note = diarizer, lines, note
        self.failure: Exception | None = None
        self.unheard = False
        self.result: Annotation | None = None
        self.certainty: Certainty | None = None

    def follow(
        self, source: Iterator[np.ndarray], latency: float, interruption: Interruption
    ) -> None:
        """Take in blocks to the end of the source, or until somebody ends it."""
        with contextlib.closing(Blocks(source)) as blocks:
            self._follow(blocks, latency, interruption)
        self.tell(self.diarizer.end())

    def _follow(self, blocks: Blocks, latency: float, interruption: Interruption) -> None:
        diarizer, deadlines = self.diarizer, Deadlines(latency)
        while not (self.unheard or interruption.number):
            block = self._next(blocks, deadlines.patience(time.monotonic(), POLL))
            if block is None:
                break
            if len(block):
                now, before = time.monotonic(), diarizer.seconds
                try:
                    turns = diarizer.push(block)
                except InputError as problem:
                    self.failure = problem
                    break
                deadlines.heard(now, before, diarizer.seconds)
            else:  # the source has stalled
                turns = diarizer.catch_up(deadlines.due(time.monotonic()))
            self.tell(turns)
            deadlines.decided(diarizer.decided)

    def _next(self, blocks: Blocks, seconds: float) -> np.ndarray | None:
        """The next block, as `Blocks.next`; None, too, where the source has failed."""
        try:
            return blocks.next(seconds)
        except (InputError, OSError) as problem:
            self.failure = problem
            return None

    def tell(self, turns: Sequence[Turn]) -> None:
        """Say turns, as long as somebody listens."""
        if not self.unheard:
            try:
                self.lines.show(turns, self.diarizer.seconds, self.diarizer.decided)
                if new := self.diarizer.newly_merged():
                    self.lines.rename(new)
            except BrokenPipeError as problem:
                self.unheard, self.failure = True, problem

    def settle(self) -> None:
        """Cluster all that was heard, and say what came of it."""
        said = len(self.diarizer.settled)
        self.result = self.diarizer.finish()
        self.certainty = self.diarizer.certainty
        self.tell(self.diarizer.settled[said:])
        names = self.diarizer.speaker_map()
        for live, final in names.items():
            self.note(f"{live} is {final or 'nobody'}")
        if not self.unheard:
            try:
                self.lines.tell_map(names)
            except BrokenPipeError as problem:
                self.failure = problem

    def hurry(self) -> None:
        """Asked to end a second time: what was said live is the result, if there is none yet."""
        if self.result is None:
            self.note("interrupted before the end of the last pass: this is what was said live")
            self.result = self.diarizer.live()

    def write(self, out: Path) -> None:
        """Write the result."""
        from diarize.formats import FORMATS, written_format
        from diarize.formats.turns import Beside
        from diarize.storage.files import atomic_text

        diarizer = self.diarizer
        assert self.result is not None
        if self.failure is not None and not isinstance(self.failure, BrokenPipeError):
            if not self.result:  # what is there already is worth more than nothing
                return
            self.note(f"{out}: holds what came before, {diarizer.seconds:.1f} s")
        name, confidence = written_format(out) or "rttm", None
        beside = Beside(end=diarizer.seconds)
        if (sure := self.certainty) is not None:
            confidence, several = sure.confidence, diarizer.several()
            heard = None if several is None else several.tolist()
            beside = replace(beside, number=sure.number, several=heard)
        atomic_text(out, FORMATS[name].write(self.result, diarizer.options, confidence, beside))


def listen(
    diarizer: StreamingDiarizer,
    source: Iterator[np.ndarray],
    sink: contextlib.AbstractContextManager[Sink],
    *,
    latency: float,
    out: Path | None,
    endless: bool = False,
    note: Note = lambda line: None,
) -> int:
    """Diarize a source to its end, or until somebody ends it; then settle and write all of it.

    `latency` seconds were promised. An `endless` source has no end of its own: Ctrl-C is the
    regular one. `note` is told what is worth knowing beside the lines.

    Returns:
        The exit code: 0, or 128 and the number of the signal that ended it.

    Raises:
        InputError, OSError: sound that cannot be used, or a source that fails; what came before is
            settled and written.
        BrokenPipeError: nobody reads the lines any more; the result is written nevertheless.
    """
    with Interruption() as interruption, sink as lines:
        session = Session(diarizer, lines, note)
        try:
            session.follow(source, latency, interruption)
            if not (diarizer.seconds or interruption.number or session.failure):
                raise InputError(f"{diarizer.uri}: no sound came")
            if session.failure and not diarizer.seconds:
                raise session.failure
            if out is not None or not session.unheard:
                session.settle()
        except (KeyboardInterrupt, SystemExit):
            session.hurry()
        if out is not None:
            session.write(out)
    if session.failure is not None:
        raise session.failure
    if not diarizer.live_turns.turns:
        note(f"{diarizer.uri}: no speech found")
    if interruption.number == signal.SIGINT and endless:
        return 0
    return 128 + interruption.number if interruption.number else 0
