"""From a recording to one vector for each window, in one pass over its blocks."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np
import torch
from jaxtyping import Float32, Float64

from diarize.audio import SAMPLE_RATE, Recording
from diarize.embedding.encoder import SpeakerEncoder
from diarize.features import STEP
from diarize.progress import Hook
from diarize.threads import ahead, one_thread, torch_threads

BATCH = 128  # windows that go through f at once; on a CPU more take longer, each of them
BLOCK_SECONDS = 60.0


def place_windows(
    regions: Float64[np.ndarray, "m 2"], length: float, step: float
) -> tuple[Float64[np.ndarray, "n 2"], Float64[np.ndarray, "n 2"]]:
    """Lay windows over regions of speech.

    Each region is divided evenly into cells of at most `step` seconds; a cell's window is centred
    on it and `length` seconds long, cut off at the region's ends.

    Args:
        regions: sorted disjoint stretches of speech, seconds.
        length: seconds of a window.
        step: seconds of a cell.

    Returns:
        The windows, and the cells for which each of them speaks.
    """
    cells = [
        np.stack([edges[:-1], edges[1:]], axis=1)
        for begin, end in regions
        for edges in [
            np.linspace(begin, end, max(1, int(np.ceil((end - begin) / step - 1e-9))) + 1)
        ]
    ]
    if not cells:
        return np.zeros((0, 2)), np.zeros((0, 2))
    cell = np.concatenate(cells)
    region = np.repeat(np.arange(len(regions)), [len(c) for c in cells])
    middle = cell.mean(axis=1, keepdims=True)
    windows = np.concatenate([middle - length / 2, middle + length / 2], axis=1)
    return np.clip(windows, regions[region, :1], regions[region, 1:]), cell


def embed_windows(
    model: SpeakerEncoder,
    recording: Recording,
    windows: Float64[np.ndarray, "n 2"],
    hook: Hook | None = None,
) -> Float32[np.ndarray, "n dim"]:
    """Embed windows of a recording, which is read up to the end of the last one.

    Memory holds a block of samples and the rows of the windows in hand, whatever the recording's
    length.

    Args:
        model: ours, or a network of others.
        recording: where the sound comes from.
        windows: begin and end of each window, seconds in the recording's time; in any order.
        hook: progress, in seconds of audio; the end of all of it, when nothing more is read.

    Returns:
        Unit vectors, one row for each window. A window beyond the end of the sound is moved back.
    """
    order, rows = np.argsort(windows[:, 0], kind="stable"), model.rows
    ranges = rows.ranges(windows[order] - recording.start)
    longest = int((ranges[:, 1] - ranges[:, 0]).max(initial=0))
    vectors = np.zeros((len(windows), model.dim), np.float32)
    with Batches(model, vectors) as batches:
        held = rows.none()
        first = 0  # number of the first row that is held
        rest = np.zeros(0, np.float32)  # samples that the next row begins with
        done, next_window = 0.0, 0
        for block in ahead(recording.blocks(BLOCK_SECONDS)):
            rest = np.concatenate([rest, block])
            new = rows.make(rest)
            rest = rest[len(new) * STEP :]
            held = np.concatenate([held, new])
            done += len(block) / SAMPLE_RATE
            while next_window < len(ranges) and ranges[next_window, 1] <= first + len(held):
                begin, end = ranges[next_window] - first
                batches.add(int(order[next_window]), held[begin:end].copy())  # not all that is held
                next_window += 1
            finished = next_window == len(ranges)
            if hook:
                total = max(done, recording.duration)
                hook("embedding", total if finished else done, total)
            if finished:
                break
            drop = min(max(0, int(ranges[next_window, 0]) - longest - first), len(held))
            held, first = held[drop:], first + drop
        if len(held) < rows.stack:  # hardly any sound: silence fills the first stack
            held = rows.make(np.pad(rest, (0, rows.samples(rows.stack))))
        for window in range(next_window, len(ranges)):
            begin, end = np.minimum(ranges[window] - first, len(held))
            begin = max(0, min(begin, end - (ranges[window, 1] - ranges[window, 0])))
            whole = (end - begin) // rows.stack * rows.stack
            batches.add(int(order[window]), held[begin:end][:whole])
    return vectors


class Batches:
    """Windows of equal length wait for one another and go through the encoder together.

    On a CPU, each of torch's threads takes a full batch of its own while the next windows are read:
    two threads in one LSTM gain less. Where no batch becomes full, as in live speech, no threads
    are begun. When the block ends, all windows are embedded, and `out` holds a row for each.
    """

    def __init__(self, model: SpeakerEncoder, out: Float32[np.ndarray, "n dim"]) -> None:
        self.model, self.out = model, out
        self.waiting: dict[int, tuple[list[int], list[np.ndarray]]] = {}
        self.most = torch_threads() if model.device == "cpu" else 1  # batches at a time
        self.pool: ThreadPoolExecutor | None = None
        self.limits = ExitStack()  # of threads, while there is a pool
        self.running: deque[Future[None]] = deque()

    def __enter__(self) -> Batches:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                for rows, windows in self.waiting.values():
                    if self.pool is None:
                        with one_thread():
                            self._embed(rows, windows)
                    else:
                        self._submit(self.pool, rows, windows)
                while self.running:
                    self.running.popleft().result()
        finally:
            if self.pool is not None:
                self.pool.shutdown(cancel_futures=True)
            self.limits.close()

    def add(self, row: int, frames: Float32[np.ndarray, "rows ..."]) -> None:
        """Take in the window whose vector goes into a row of `out`."""
        rows, windows = self.waiting.setdefault(len(frames), ([], []))
        rows.append(row)
        windows.append(frames)
        if len(rows) == BATCH:
            if self.pool is None:
                self.limits.enter_context(one_thread())
                self.pool = ThreadPoolExecutor(
                    self.most, initializer=torch.set_num_threads, initargs=(1,)
                )
            self._submit(self.pool, *self.waiting.pop(len(frames)))

    def _submit(self, pool: ThreadPoolExecutor, rows: list[int], windows: list[np.ndarray]) -> None:
        while len(self.running) > self.most:  # no more are held than are worked on, and one
            self.running.popleft().result()
        self.running.append(pool.submit(self._embed, rows, windows))

    def _embed(self, rows: list[int], windows: list[np.ndarray]) -> None:
        self.out[rows] = self.model.vectors(np.stack(windows))
