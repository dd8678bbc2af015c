"""From a recording to one vector for each window, in one pass over its blocks."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float32, Float64, Int64

from diarize.activity.counts import VoiceCounts
from diarize.audio import SAMPLE_RATE, Recording
from diarize.embedding.model import CompositionalEmbedding
from diarize.features import N_COEFFICIENTS, N_FFT, STEP, mfcc, n_samples
from diarize.threads import one_thread, torch_threads

BATCH = 128  # windows that go through f at once; on a CPU more take longer, each of them
BLOCK_SECONDS = 60.0
SHORTEST = 0.1  # seconds; a shorter window is widened to this


@dataclass(frozen=True)
class Embedded:
    """A recording as clustering and decoding see it.

    Attributes:
        uri: its name.
        duration: seconds of audio that were read.
        speech: regions of speech, seconds.
        voices: how many were heard; None: nobody listened for that.
        windows: begin and end of the windows that are clustered, seconds.
        coarse: their vectors.
        cells: the time for which each window that is decoded speaks, seconds.
        fine: vectors of these windows.
        unheard_cells: the time for which windows of speech speak that only corrections know of.
        unheard: vectors of these.
        device: what f ran on.
        narrow: whether the recording has a narrow band, like a telephone's, in which different
            voices are more alike.
    """

    uri: str
    duration: float
    speech: Float64[np.ndarray, "m 2"]
    voices: VoiceCounts | None
    windows: Float64[np.ndarray, "windows 2"]
    coarse: Float32[np.ndarray, "windows p"]
    cells: Float64[np.ndarray, "n 2"]
    fine: Float32[np.ndarray, "n p"]
    unheard_cells: Float64[np.ndarray, "u 2"]
    unheard: Float32[np.ndarray, "u p"]
    device: str
    narrow: bool = False


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
    model: CompositionalEmbedding,
    recording: Recording,
    windows: Float64[np.ndarray, "n 2"],
    hook: Callable[[str, float, float], None] | None = None,
) -> Float32[np.ndarray, "n dim"]:
    """Embed windows of a recording with f.

    Memory holds a block of samples and the frames of the windows in hand, whatever the recording's
    length.

    Args:
        model: f and g.
        recording: where the sound comes from.
        windows: begin and end of each window, seconds in the recording's time; in any order.
        hook: progress, in seconds of audio.

    Returns:
        Unit vectors, one row for each window. A window beyond the end of the sound is moved back.
    """
    order = np.argsort(windows[:, 0], kind="stable")
    stack = model.config.stack
    frames = frame_ranges(windows[order] - recording.start, stack)
    longest = int((frames[:, 1] - frames[:, 0]).max(initial=0))
    vectors = np.zeros((len(windows), model.config.dim), np.float32)
    with Batches(model, vectors) as batches:
        held = np.zeros((0, N_COEFFICIENTS), np.float32)
        first = 0  # number of the first frame that is held
        rest = np.zeros(0, np.float32)  # samples that the next frame begins with
        done, next_window = 0.0, 0
        for block in recording.blocks(BLOCK_SECONDS):
            rest = np.concatenate([rest, block])
            new = mfcc(rest)
            rest = rest[len(new) * STEP :]
            held = np.concatenate([held, new])
            done += len(block) / SAMPLE_RATE
            while next_window < len(frames) and frames[next_window, 1] <= first + len(held):
                begin, end = frames[next_window] - first
                batches.add(int(order[next_window]), held[begin:end])
                next_window += 1
            keep = frames[next_window, 0] if next_window < len(frames) else first + len(held)
            drop = min(max(0, int(keep) - longest - first), len(held))
            held, first = held[drop:], first + drop
            if hook:
                hook("embedding", done, max(done, recording.duration))
        if len(held) < stack:  # hardly any sound: silence fills the first step
            held = mfcc(np.pad(rest, (0, n_samples(stack))))
        for window in range(next_window, len(frames)):
            begin, end = np.minimum(frames[window] - first, len(held))
            begin = max(0, min(begin, end - (frames[window, 1] - frames[window, 0])))
            batches.add(int(order[window]), held[begin:end][: (end - begin) // stack * stack])
    return vectors


def frame_ranges(windows: Float64[np.ndarray, "n 2"], stack: int) -> Int64[np.ndarray, "n 2"]:
    """Convert windows in seconds to ranges of frames, a whole number of LSTM steps long."""
    seconds = np.maximum(windows[:, 1] - windows[:, 0], SHORTEST)
    steps = np.maximum(1, ((seconds * SAMPLE_RATE - N_FFT) / STEP + 1).astype(np.int64) // stack)
    middle = windows.mean(axis=1) * SAMPLE_RATE
    begin = np.round((middle - N_FFT / 2) / STEP - (steps * stack - 1) / 2).astype(np.int64)
    begin = np.maximum(begin, 0)
    return np.stack([begin, begin + steps * stack], axis=1)


class Batches:
    """Windows of equal length wait for one another and go through f together.

    On a CPU, each of torch's threads takes a full batch of its own while the next windows are read:
    two threads in one LSTM gain less. Where no batch becomes full, as in live speech, no threads
    are begun. When the block ends, all windows are embedded.

    Args:
        model: f and g.
        out: where the vectors go, one row for each window.
    """

    def __init__(self, model: CompositionalEmbedding, out: Float32[np.ndarray, "n dim"]) -> None:
        self.model, self.out = model, out
        self.device = next(model.parameters()).device
        self.waiting: dict[int, tuple[list[int], list[np.ndarray]]] = {}
        self.most = torch_threads() if self.device.type == "cpu" else 1  # batches at a time
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
                        self._embed(rows, windows)
                    else:
                        self._submit(self.pool, rows, windows)
                while self.running:
                    self.running.popleft().result()
        finally:
            if self.pool is not None:
                self.pool.shutdown(cancel_futures=True)
            self.limits.close()

    def add(self, row: int, frames: Float32[np.ndarray, "frames coefficients"]) -> None:
        """Take in the window of a row."""
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
        features = torch.from_numpy(np.stack(windows)).to(self.device)
        with torch.inference_mode():
            self.out[rows] = self.model(features).float().cpu().numpy()
