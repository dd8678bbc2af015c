"""Windows over speech that goes on: where they lie, and their vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64

from diarize.audio import SAMPLE_RATE
from diarize.embedding.encoder import Rows, SpeakerEncoder
from diarize.embedding.windows import Batches
from diarize.features import STEP
from diarize.streaming.speech import Region, SpeechRegions

EPSILON = 1e-9  # seconds
SHORTEST_CELL = 0.01  # seconds
TOGETHER = 4  # windows that nobody waits for and that are embedded at once: a third of the time
PATIENCE = 4.0  # seconds that one of them waits for others


@dataclass(frozen=True, eq=False)
class Cell:
    """A stretch of a region for which one window speaks, seconds."""

    begin: float
    end: float
    region: Region


class Lane:
    """Divides regions into cells of `step` seconds, each with a window of `length` seconds.

    As `diarize.embedding.place_windows`, but a region's cells begin at its start, since its end is
    not known: the last one is shorter.

    Args:
        length: of a window, which is centred on its cell and cut off at the region's ends.
        step: of a cell.
        known: a cell is laid once so much of it is known to be speech; at the region's end, however
            short it is: a recording's regions have as many.
    """

    def __init__(self, length: float, step: float, *, known: float) -> None:
        self.length, self.step, self.known = length, step, known
        self.waiting: list[Cell] = []  # for their vectors
        self._region: Region | None = None
        self._placed = 0  # cells of that region

    def place(self, region: Region, sure: float) -> bool:
        """Lay cells over a region as far as it is known; whether that was all of it."""
        if region is not self._region:
            self._region, self._placed = region, 0
        limit = sure if region.end is None else region.end
        while (begin := region.start + self._placed * self.step) < limit:
            known = limit - begin
            if region.end is None:
                if known < self.known - EPSILON:
                    break
            elif known < SHORTEST_CELL - EPSILON and self._placed:
                break
            end = begin + self.step
            self.waiting.append(
                Cell(begin, end if region.end is None else min(end, region.end), region)
            )
            self._placed += 1
        return region.end is not None

    def laid(self, sure: float) -> float:
        """Seconds up to which there are cells wherever there is speech."""
        if self._region is None or self._region.end is not None:
            return sure
        return min(sure, self._region.start + self._placed * self.step)

    def ready(self, until: float, due: float, least: int = 1) -> list[Cell]:
        """Take out the cells whose windows have all their sound, or can wait no longer.

        Args:
            until: seconds of sound that there are.
            due: cells that begin before this cannot wait.
            least: how many there must be of those that can.
        """
        n = 0
        for cell in self.waiting:
            middle = (cell.begin + cell.end) / 2
            ends = cell.region.end
            full = middle + self.length / 2 if ends is None else min(middle + self.length / 2, ends)
            if full > until and cell.begin >= due:
                break
            n += 1
        if n < least and n and self.waiting[0].begin >= due:
            return []
        taken, self.waiting = self.waiting[:n], self.waiting[n:]
        return taken


def window(cell: Cell, length: float, until: float) -> tuple[float, float]:
    """Where a cell's window of so many seconds lies, when sound is known up to `until`."""
    middle = (cell.begin + cell.end) / 2
    ends = until if cell.region.end is None else min(until, cell.region.end)
    begin = max(middle - length / 2, cell.region.start)
    return begin, max(begin, min(middle + length / 2, ends))


class Frames:
    """The last seconds of a stream as an encoder hears them."""

    def __init__(self, seconds: float, rows: Rows) -> None:
        self._most, self._rows = int(seconds * SAMPLE_RATE / STEP), rows
        self._held = rows.none()
        self._first = 0  # number of the first row that is held
        self._rest = np.zeros(0, np.float32)  # samples that the next row begins with

    @property
    def until(self) -> float:
        """Seconds of sound that all rows together cover."""
        return self._rows.samples(self._first + len(self._held)) / SAMPLE_RATE

    def push(self, samples: Float32[np.ndarray, "samples"]) -> None:
        """Take in the samples that follow those of the last call."""
        self._rest = np.concatenate([self._rest, samples])
        new = self._rows.make(self._rest)
        self._rest = self._rest[len(new) * STEP :]
        held = np.concatenate([self._held, new])
        self._first += max(0, len(held) - self._most)
        self._held = held[-self._most :]

    def finish(self) -> None:
        """There is no more sound: silence fills a last row, and the first stack."""
        missing = max(0, self._rows.stack - self._first - len(self._held))
        self.push(np.zeros(self._rows.width + STEP * missing, np.float32))

    def cut(self, windows: list[tuple[float, float]]) -> list[Float32[np.ndarray, "rows ..."]]:
        """Cut out windows, given in seconds; moved back where they go beyond the sound."""
        available, stack = self._first + len(self._held), self._rows.stack
        found = []
        for begin, end in self._rows.ranges(np.array(windows).reshape(-1, 2)).tolist():
            late = max(0, end - available)
            first = max(0, begin - late - self._first)
            n = (min(end, available) - self._first - first) // stack * stack
            found.append(self._held[first : first + n])
        return found


def embed(
    model: SpeakerEncoder, windows: list[Float32[np.ndarray, "_ ..."]]
) -> Float32[np.ndarray, "n dim"]:
    """Embed windows of any lengths, those of one length together."""
    vectors = np.zeros((len(windows), model.dim), np.float32)
    with Batches(model, vectors) as batches:
        for row, frames in enumerate(windows):
            batches.add(row, frames)
    return vectors


EmbeddedCells = tuple[Float64[np.ndarray, "_ 2"], Float32[np.ndarray, "_ p"]]
"""Cells for which windows speak, seconds, and their vectors, of unit length."""


class LiveWindows:
    """Sound and regions of speech to vectors.

    Args:
        delay: seconds after which what can be decoded must be.
        all_live: whether the windows that are clustered are wanted live as well; otherwise each
            may wait for a few others, which costs less.
    """

    def __init__(self, model: SpeakerEncoder, delay: float, all_live: bool) -> None:
        known = model.knowledge
        self._patience, self._least = (0.0, 1) if all_live else (PATIENCE, TOGETHER)
        self._model = model
        self._coarse = Lane(known.window, known.step, known=known.step / 2)
        self._fine = Lane(known.fine_window, known.fine_step, known=known.fine_step)
        self._known = known
        held = delay + self._patience + known.window + 2 * known.step + 1
        self._frames = Frames(held, model.rows)

    def push(self, samples: Float32[np.ndarray, "samples"]) -> None:
        """Take in the samples that follow those of the last call."""
        self._frames.push(samples)

    def finish(self) -> None:
        """There is no more sound."""
        self._frames.finish()

    def laid(self, sure: float) -> float:
        """Seconds up to which there are fine cells wherever there is speech."""
        return self._fine.laid(sure)

    def embed(
        self, regions: SpeechRegions, due: float
    ) -> tuple[EmbeddedCells, EmbeddedCells, EmbeddedCells]:
        """Embed the windows that are complete, or can wait no longer, in one go.

        Args:
            regions: of speech; those that are over, and have their cells, are taken out.
            due: cells that begin before this, and are decoded, cannot wait.

        Returns:
            The windows that are clustered, those by which speakers are found and counted, and of
            the same cells the shorter ones, by which turns are decoded, live and in the end.
        """
        lanes = (self._coarse, self._fine)
        regions.found = [
            region
            for region in regions.found
            if not all([lane.place(region, regions.sure) for lane in lanes])
        ]
        until = self._frames.until
        coarse = self._coarse.ready(until, due - self._patience, self._least)
        fine = self._fine.ready(until, due)
        known = self._known
        again = fine if known.has_short else []  # as long: once is enough
        laid = (
            (coarse, self._coarse.length), (fine, self._fine.length), (again, known.turn_window)
        )  # fmt: skip
        windows = [window(cell, length, until) for cells, length in laid for cell in cells]
        vectors = embed(self._model, self._frames.cut(windows))
        n, m = len(coarse), len(coarse) + len(fine)
        return (
            (_times(coarse), vectors[:n]),
            (_times(fine), vectors[n:m]),
            (_times(fine), vectors[m:] if again else vectors[n:m]),
        )


def _times(cells: list[Cell]) -> Float64[np.ndarray, "n 2"]:
    return np.array([(cell.begin, cell.end) for cell in cells], np.float64).reshape(-1, 2)
