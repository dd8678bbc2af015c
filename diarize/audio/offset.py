"""A constant that a recorder adds to all samples, which is no sound, is taken off."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float32

PROBE = 5.0  # seconds of which the mean is taken
SHORTEST = 1.0  # seconds whose mean says something
DRIFT = 0.05  # share of the mean by which those of the two halves differ at most
LEAST, SHARE = 0.002, 0.5  # of full scale, and of what the sound is beside it: less hardly matters


def without_offset(
    pieces: Iterator[Float32[np.ndarray, "_"]], rate: int
) -> Iterator[Float32[np.ndarray, "_"]]:
    """The same sound around zero, if its beginning is not; otherwise, the same samples."""
    begun: list[np.ndarray] = []
    for piece in pieces:
        begun.append(piece)
        if sum(map(len, begun)) >= PROBE * rate:
            break
    offset = np.float32(offset_of(np.concatenate(begun), rate) if begun else 0.0)
    for part in (begun, pieces):
        for piece in part:
            yield piece - offset if offset else piece


def offset_of(sound: Float32[np.ndarray, "n"], rate: int) -> float:
    """The constant in a stretch of sound; 0: there is none that matters."""
    if len(sound) < SHORTEST * rate:
        return 0.0
    first, second = (float(half.mean(dtype=np.float64)) for half in np.array_split(sound, 2))
    offset = (first + second) / 2
    spread = max(0.0, float(sound @ sound) / len(sound) - offset**2) ** 0.5
    steady = abs(first - second) <= DRIFT * abs(offset)
    return offset if steady and abs(offset) > max(LEAST, SHARE * spread) else 0.0
