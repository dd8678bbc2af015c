"""How loud a recording is, and the one gain that brings its speech to a common level.

Meetings are recorded at -35 to -50 dBFS, and a detector on the raw samples hears little of them.
The gain is the same from beginning to end: one that follows the level over seconds raises the room
between two sentences as well, which costs more speech than it finds in real meetings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32

from diarize.threads import ahead

if TYPE_CHECKING:
    from diarize.audio import Recording

CHUNK = 512  # samples, 32 ms at 16 kHz: one level, one probability
BLOCK_SECONDS = 30.72  # 960 chunks: only a recording's last block has an incomplete one

TARGET_LEVEL = -20.0  # dBFS, where the loud chunks of speech are brought
SILENCE = -100.0  # dBFS; digital silence and what one bit of noise leaves behind
LOUD = 95.0  # percentile of a recording's heard chunks that counts as its level
LOUDEST = 99.5  # percentile that is speech even where ten minutes are silent for every one spoken
HEARD = 35.0  # dB under it; what is quieter is background, however long it lasts
MAX_GAIN = 60.0  # dB


def measure_gain(recording: Recording) -> float:
    """Measure the factor that brings a recording's loud parts to a common level.

    Robust: the 95th percentile of 32 ms levels, background and digital silence left out. At most
    60 dB; 1.0 for a recording that is silent throughout.

    Raises:
        InputError: the recording is damaged.
    """
    return gain_of(chunk_levels(ahead(recording.blocks(BLOCK_SECONDS))))


def gain_of(levels: Float32[np.ndarray, "chunks"]) -> float:
    """The factor for a recording whose chunks have these levels, dBFS."""
    heard = levels[levels > SILENCE]
    if not len(heard):
        return 1.0
    overall = float(np.percentile(heard[heard > np.percentile(heard, LOUDEST) - HEARD], LOUD))
    return float(10 ** (min(TARGET_LEVEL - overall, MAX_GAIN) / 20))


def chunk_levels(blocks: Iterator[Float32[np.ndarray, "_"]]) -> Float32[np.ndarray, "chunks"]:
    """Measure the level of every 32 ms in dBFS; blocks but the last are whole chunks long."""
    return np.concatenate(
        [np.zeros(0, np.float32), *(levels_of(as_chunks(block)) for block in blocks)]
    )


def levels_of(chunks: Float32[np.ndarray, "chunks 512"]) -> Float32[np.ndarray, "chunks"]:
    """Measure the level of each chunk, dBFS."""
    power = np.square(chunks, dtype=np.float64).mean(axis=1)
    return (10 * np.log10(power + 1e-15)).astype(np.float32)


def as_chunks(block: Float32[np.ndarray, "samples"]) -> Float32[np.ndarray, "chunks 512"]:
    """Cut a block into chunks; the last one is filled up with zeros."""
    return np.pad(block, (0, -len(block) % CHUNK)).reshape(-1, CHUNK)
