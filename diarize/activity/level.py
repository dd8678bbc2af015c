"""How loud a recording is, and the slow gain that brings all of its speech to one level.

Meetings are recorded at -35 to -50 dBFS, and one speaker sits by the microphone while another is 20
or 30 dB quieter for being far away. A detector on the raw samples hears neither the quiet recording
nor the far speaker, so the gain follows the level over a few seconds. It is bounded twice: silence
in a recording is raised at most `MAX_SPREAD` more than its loud parts, and nothing by more than
`MAX_GAIN`. The constants were chosen by missed and falsely found speech in simulated conversations
of unlike levels, rooms and noises.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32

if TYPE_CHECKING:
    from diarize.audio import Recording

CHUNK = 512  # samples, 32 ms at 16 kHz: one level, one probability
BLOCK_SECONDS = 30.72  # 960 chunks: only a recording's last block has an incomplete one

TARGET_LEVEL = -15.0  # dBFS, where the loud chunks of speech are brought
SILENCE = -100.0  # dBFS; digital silence and what one bit of noise leaves behind
LOUD = 95.0  # percentile of a recording's heard chunks that counts as its level
LOUDEST = 99.5  # percentile that is speech even where ten minutes are silent for every one spoken
HEARD = 35.0  # dB under it; what is quieter is background, however long it lasts
LOCALLY_LOUD = 90.0  # the same for a few seconds
WINDOW = 125  # chunks, 4 s: long enough to hold a phrase, short enough for a change of speakers
HOP = 32  # chunks, 1 s, between two measurements of the local level
MAX_SPREAD = 20.0  # dB by which quiet seconds are raised more than loud ones
MAX_GAIN = 60.0  # dB


def measure_level(recording: Recording) -> float:
    """Measure the gain in decibels that brings a recording's loud parts to a common level.

    Robust: the 95th percentile of 32 ms levels, background and digital silence left out. At most
    60 dB; 0.0 for a recording that is silent throughout.
    """
    overall = _overall(chunk_levels(recording.blocks(BLOCK_SECONDS)))
    return 0.0 if overall is None else min(TARGET_LEVEL - overall, MAX_GAIN)


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


def gain_curve(levels: Float32[np.ndarray, "chunks"]) -> Float32[np.ndarray, "edges"]:
    """Find the slowly varying gain from the levels of a recording's chunks.

    Returns:
        Factors at the edges of the chunks, one more than there are chunks; to be interpolated.
    """
    edges = np.arange(len(levels) + 1)
    overall = _overall(levels)
    if overall is None:
        return np.ones(len(edges), np.float32)
    # One row per measurement, each WINDOW chunks around it; the ends see themselves mirrored.
    padded = np.pad(levels, (WINDOW // 2, WINDOW // 2 + HOP), mode="symmetric")
    around = np.lib.stride_tricks.sliding_window_view(padded, WINDOW)[::HOP]
    local = np.percentile(around, LOCALLY_LOUD, axis=1)
    gain = np.minimum(TARGET_LEVEL - np.maximum(local, overall - MAX_SPREAD), MAX_GAIN)
    smooth = np.interp(edges, np.arange(len(gain)) * HOP, gain)
    return (10 ** (smooth / 20)).astype(np.float32)


def apply_gain(
    chunks: Float32[np.ndarray, "chunks 512"], factors: Float32[np.ndarray, "edges"]
) -> Float32[np.ndarray, "chunks 512"]:
    """Multiply chunks by factors that run straight from one edge to the next."""
    ramp = np.arange(CHUNK, dtype=np.float32) / np.float32(CHUNK)
    slope = np.diff(factors)[:, None]
    return chunks * (factors[:-1, None] + slope * ramp)


def _overall(levels: Float32[np.ndarray, "chunks"]) -> float | None:
    """The level of the loud parts, dBFS; None: there is nothing but silence."""
    heard = levels[levels > SILENCE]
    if not len(heard):
        return None
    return float(np.percentile(heard[heard > np.percentile(heard, LOUDEST) - HEARD], LOUD))
