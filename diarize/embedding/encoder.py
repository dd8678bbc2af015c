"""What the rest asks of a speaker encoder: sound cut into rows, windows of rows to unit vectors.

Ours reads MFCC; networks of others read samples, filter banks of Kaldi or of NeMo. All of these
are rows, one every 10 ms, that know nothing of the sound around them, so a recording becomes rows
once, however its windows overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Float64, Int64

from diarize.audio import SAMPLE_RATE
from diarize.features import N_COEFFICIENTS, N_FFT, STEP, mfcc

if TYPE_CHECKING:
    from diarize.embedding.knowledge import Knowledge
    from diarize.embedding.model import Composition

SHORTEST = 0.1  # seconds; a shorter window is widened to this


@dataclass(frozen=True)
class Rows:
    """How an encoder hears: row t covers the samples from 160 t to 160 t + `width`."""

    make: Callable[[np.ndarray], np.ndarray]  # of samples, all rows that they fill, float32
    width: int  # samples under one row, 160 at least
    shape: tuple[int, ...]  # of a row
    stack: int = 1  # rows that come together; a window holds a whole number of stacks
    shortest: float = SHORTEST  # seconds to which shorter windows are widened

    def none(self) -> Float32[np.ndarray, "0 ..."]:
        """No rows."""
        return np.zeros((0, *self.shape), np.float32)

    def samples(self, rows: int) -> int:
        """Count the samples that so many rows cover."""
        return self.width + (rows - 1) * STEP if rows > 0 else 0

    def ranges(self, windows: Float64[np.ndarray, "n 2"]) -> Int64[np.ndarray, "n 2"]:
        """Convert windows in seconds to ranges of rows, a whole number of stacks long."""
        seconds = np.maximum(windows[:, 1] - windows[:, 0], self.shortest)
        rows = ((seconds * SAMPLE_RATE - self.width) / STEP + 1).astype(np.int64)
        stacks = np.maximum(1, rows // self.stack)
        middle = windows.mean(axis=1) * SAMPLE_RATE
        begin = (middle - self.width / 2) / STEP - (stacks * self.stack - 1) / 2
        begin = np.maximum(np.round(begin).astype(np.int64), 0)
        return np.stack([begin, begin + stacks * self.stack], axis=1)


@runtime_checkable
class SpeakerEncoder(Protocol):
    """Puts windows on a sphere, and knows g and the numbers that go with it.

    Attributes:
        knowledge: what is known of the vectors.
    """

    knowledge: Knowledge

    @property
    def compose(self) -> Composition:
        """g, on unit vectors."""

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""

    @property
    def rows(self) -> Rows:
        """How it hears."""

    @property
    def device(self) -> str:
        """What it runs on, "cpu" or "cuda"; on a CPU, several threads embed a batch each."""

    def vectors(self, windows: Float32[np.ndarray, "b rows ..."]) -> Float32[np.ndarray, "b dim"]:
        """Embed windows of as many rows each."""


def mfcc_rows(stack: int) -> Rows:
    """How our own encoder hears."""
    return Rows(mfcc, N_FFT, (N_COEFFICIENTS,), stack)
