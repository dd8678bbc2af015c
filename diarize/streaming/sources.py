"""Where sound comes from: standard input, a file at its own speed, a microphone."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

import numpy as np

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.errors import InputError, extra
from diarize.storage import files
from diarize.streaming.pcm import Pcm

MOST_BYTES = 1 << 18  # read at a time, at most
WAITING = 8  # blocks that wait to be worked on; whoever is ahead by more than that has to wait
LOOK_EVERY = 0.1  # seconds after which whoever has to wait looks whether anybody wants it still
LETTING_GO = 1.0  # seconds in which a source ends, unless it hangs in a read
BLOCK_SECONDS = 0.05  # of a file that is played
FAST_SECONDS = 5.0  # of one that is played as fast as may be
HEADERS = {b"RIFF": "a WAV file", b"fLaC": "a FLAC file", b"OggS": "an Ogg file", b"ID3": "an MP3"}
"""How files begin that are no raw samples."""


_NOTHING = contextlib.nullcontext()


class Blocks:
    """Blocks of a source, read in a thread of its own: it can be waited for with a limit."""

    def __init__(self, produce: Iterator[np.ndarray]) -> None:
        self._queue: queue.Queue[np.ndarray | BaseException | None] = queue.Queue(WAITING)
        self._over = threading.Event()
        # A daemon: a read that never returns must not keep the program from ending.
        self._thread = threading.Thread(target=self._fill, args=(produce,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Let go of the source: what its decoder holds would be reported as lost at the end."""
        self._over.set()
        self._thread.join(LETTING_GO)

    def next(self, seconds: float) -> np.ndarray | None:
        """Wait for the next block, at most so long.

        Returns:
            The block; without samples if there was none in that time, None at the end.
        """
        try:
            item = self._queue.get(timeout=seconds)
        except queue.Empty:
            return np.zeros(0, np.float32)
        if isinstance(item, BaseException):
            raise item
        return item

    def _fill(self, produce: Iterator[np.ndarray]) -> None:
        try:
            with contextlib.closing(produce) if isinstance(produce, Generator) else _NOTHING:
                for block in produce:
                    if not self._put(block):
                        return
            self._put(None)
        except BaseException as problem:  # told where the blocks are taken
            self._put(problem)

    def _put(self, item: np.ndarray | BaseException | None) -> bool:
        """Hand on an item; False: nobody wants any more."""
        while not self._over.is_set():
            with contextlib.suppress(queue.Full):
                self._queue.put(item, timeout=LOOK_EVERY)
                return True
        return False


def standard_input(pcm: Pcm) -> Iterator[np.ndarray]:
    """Whatever standard input has, as soon as it has it.

    Raises:
        InputError: it is a terminal, or closed.
    """
    stdin = files.standard_input()
    if stdin.isatty():
        raise InputError("standard input: is a terminal; pipe raw samples into it")
    read = _reader(stdin)

    def blocks() -> Iterator[np.ndarray]:
        data = read(MOST_BYTES)
        if kind := next((kind for head, kind in HEADERS.items() if data.startswith(head)), None):
            raise InputError(
                f"standard input: is {kind}, not raw samples; give its path, or decode it before"
            )
        while data:
            yield pcm.decode(data)
            data = read(MOST_BYTES)

    return blocks()


def _reader(stdin: Any) -> Callable[[int], bytes]:
    try:
        number = stdin.fileno()
    except (OSError, ValueError):  # no file behind it
        return getattr(stdin.buffer, "read1", stdin.buffer.read)
    return lambda size: os.read(number, size)  # takes no lock, which the end would wait for


def played(path: str, speed: float) -> Iterator[np.ndarray]:
    """A recording at 16 kHz, at so many times its own speed; infinite: as fast as may be."""
    fast = speed == float("inf")
    recording = open_recording(path)

    def blocks() -> Iterator[np.ndarray]:
        began, done = time.monotonic(), 0
        for block in recording.blocks(FAST_SECONDS if fast else BLOCK_SECONDS * max(speed, 1.0)):
            done += len(block)  # a block is heard when its last sample is
            pause = 0.0 if fast else began + done / SAMPLE_RATE / speed - time.monotonic()
            if pause > 0:
                time.sleep(pause)
            yield block

    return blocks()


def microphone(rate: int) -> Iterator[np.ndarray]:
    """The default microphone; without an end.

    Raises:
        InputError: sounddevice is not installed, or there is no microphone.
    """
    why = "a microphone is read through sounddevice, which is not installed"
    try:
        sounddevice = extra("sounddevice", why, "microphone")
    except OSError as error:  # PortAudio is missing
        raise InputError(f"microphone: {error}") from None
    heard: queue.SimpleQueue[np.ndarray] = queue.SimpleQueue()

    def hear(samples: Any, _frames: int, _time: Any, _status: Any) -> None:
        heard.put(samples[:, 0].copy())

    try:
        stream = sounddevice.InputStream(rate, channels=1, dtype="float32", callback=hear)
    except (sounddevice.PortAudioError, ValueError) as error:
        raise InputError(f"microphone: {error}") from None

    def blocks() -> Iterator[np.ndarray]:
        with stream:  # begins to listen
            while True:
                yield heard.get()

    return blocks()
