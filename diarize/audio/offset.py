"""A constant that a recorder adds to all samples, which is no sound, is taken off."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float32

PROBE = 5.0  # seconds of which the mean is taken
SHORTEST = 1.0  # seconds whose mean says something
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
    size = sum(map(len, begun))
    offset = sum(float(piece.sum(dtype=np.float64)) for piece in begun) / max(1, size)
    power = sum(float(piece @ piece) for piece in begun) / max(1, size)
    spread = max(0.0, power - offset**2) ** 0.5
    constant = size >= SHORTEST * rate and abs(offset) > max(LEAST, SHARE * spread)
    for part in (begun, pieces):
        for piece in part:
            yield piece - np.float32(offset) if constant else piece
