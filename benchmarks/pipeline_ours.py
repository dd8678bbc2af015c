"""What each stage of ours takes on one recording; prints JSON. For benchmarks/pipeline.py.

    python pipeline_ours.py AUDIO

A first run over a few seconds loads all libraries and the model, before the clock starts.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np

from diarize.activity import NetworkActivity
from diarize.activity.hearing import hear
from diarize.activity.inference import CountingStream
from diarize.audio import Recording, open_recording
from diarize.embedding import encoder, windows
from diarize.features import mfcc
from diarize.formats.rttm import rttm_text
from diarize.pipeline import Diarizer
from diarize.timeline.decoding import decode

FIRST = 20.0  # seconds of the recording in the run that is not timed


class Clock:
    """Seconds, and seconds of the processor, by stage; a stage within another one is not its own.

    Seconds are those of the thread that made it: of work in others it sees what it waits for. What
    that takes of the processor counts for the stage that is named there.

    Attributes:
        seconds: wall and processor seconds of each stage.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        self._stage, self._since = "", _now()
        self._begun, self._lock = time.process_time(), threading.Lock()
        self._elsewhere: dict[str, float] = defaultdict(float)
        self._own = threading.current_thread()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        if threading.current_thread() is not self._own:
            with self._add(name):
                yield
            return
        before = self._switch(name)
        try:
            yield
        finally:
            self._switch(before)

    def _switch(self, name: str) -> str:
        before, now = self._stage, _now()
        if before:
            self.seconds[before][0] += now[0] - self._since[0]
            self.seconds[before][1] += now[1] - self._since[1]
        self._stage, self._since = name, now
        return before

    @contextmanager
    def _add(self, name: str) -> Iterator[None]:
        """Count what another thread takes of the processor to a stage."""
        begin = time.thread_time()
        yield
        with self._lock:
            self._elsewhere[name] += time.thread_time() - begin

    def total(self) -> dict[str, list[float]]:
        """By stage, the other threads included; those that nobody added are in `rest`."""
        for name, taken in self._elsewhere.items():
            self.seconds[name][1] += taken
        taken = sum(cpu for _, cpu in self.seconds.values())
        self.seconds["rest"][1] += max(0.0, time.process_time() - self._begun - taken)
        return self.seconds


def _now() -> tuple[float, float]:
    return time.perf_counter(), time.thread_time()


def main(path: str) -> None:
    diarizer = Diarizer(device="cpu")
    diarizer(open_recording(path, end=FIRST))
    clock = Clock()
    with watched(clock), clock.stage("rest"):
        with clock.stage("activity"):
            heard = hear(open_recording(path), NetworkActivity(), True)
        found = Diarizer(device="cpu", activity=lambda *_: heard)
        found._loaded.update(diarizer._loaded)
        with clock.stage("windows"):
            embedded = found.embed(path)
        with clock.stage("clustering"):
            _, decoded, _ = found.cluster(embedded)
        with clock.stage("timeline and output"):
            text = rttm_text(decoded.annotation(embedded.uri))
    print(
        json.dumps(
            {
                "stages": clock.total(),
                "seconds": embedded.duration,
                "speech": float(np.diff(heard.regions, axis=1).sum()),
                "speakers": len({line.split()[7] for line in text.splitlines()}),
            }
        )
    )


@contextmanager
def watched(clock: Clock) -> Iterator[None]:
    """Let the clock know of decoding, features, f and timeline, which run within other stages."""

    def timed(name: str, do: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            with clock.stage(name):
                return do(*arguments)

        return call

    blocks = Recording.blocks

    def timed_blocks(recording: Recording, seconds: float = 30.0) -> Iterator[np.ndarray]:
        decoded = blocks(recording, seconds)
        while True:
            with clock.stage("decoding"):
                block = next(decoded, None)
            if block is None:
                return
            yield block

    with ExitStack() as stack:
        stack.enter_context(patch.object(Recording, "blocks", timed_blocks))
        stack.enter_context(patch.object(encoder, "mfcc", timed("features", mfcc)))
        within = timed("timeline and output", decode)
        stack.enter_context(patch("diarize.timeline.decoding.decode", within))
        listens = timed("activity", CountingStream.listen)
        stack.enter_context(patch.object(CountingStream, "listen", listens))
        for step in ("_submit", "_embed", "__exit__"):
            do = timed("f", getattr(windows.Batches, step))
            stack.enter_context(patch.object(windows.Batches, step, do))
        yield


if __name__ == "__main__":
    main(sys.argv[1])
