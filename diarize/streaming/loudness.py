"""The gain that brings speech to one level, when the sound to come is not known.

As `diarize.activity.level`, which sees a recording as a whole: the gain follows the loud parts of
the last minutes. Loudness is believed at once, silence only after long.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32

from diarize.activity.level import (
    HEARD,
    LOUD,
    LOUDEST,
    MAX_GAIN,
    SILENCE,
    TARGET_LEVEL,
    levels_of,
)

ATTACK = 8  # chunks, 0.26 s: when half of them are loud, it is loud
PRIOR_LEVEL = -40.0  # dBFS, of speech, before there was any
PRIOR_CHUNKS = 8.0  # chunks for which that counts: a twentieth of what is heard after 5 s
HALF_LIFE = 1900  # chunks, 60 s, after which a level counts half: a jump in level is followed
BINS_PER_DB = 2
HIGHEST = 20.0  # dBFS; float samples may lie above full scale


class LiveLevel:
    """Follows the level of a stream and evens it out; memory does not grow."""

    def __init__(self) -> None:
        self._recent = np.zeros(0, np.float32)  # levels of the last chunks, dBFS
        self._edges = np.arange(SILENCE, HIGHEST, 1 / BINS_PER_DB)
        self._seen = np.zeros(len(self._edges))  # chunks at each level, old ones counting less
        self._seen[self._bins(np.array([PRIOR_LEVEL]))] = PRIOR_CHUNKS
        self._gain: float | None = None  # dB, at the end of what came so far

    def __call__(self, chunks: Float32[np.ndarray, "n 512"]) -> Float32[np.ndarray, "n 512"]:
        """Bring the chunks that follow those of the last call to the common level."""
        levels = levels_of(chunks)
        self._recent = np.concatenate([self._recent, levels])[-ATTACK:]
        heard = levels[levels > SILENCE]
        if len(heard):
            self._seen *= 0.5 ** (len(heard) / HALF_LIFE)
            np.add.at(self._seen, self._bins(heard), 1.0)
        wanted = self._wanted()
        before = wanted if self._gain is None else self._gain
        self._gain = wanted
        decibels = np.linspace(before, wanted, chunks.size, endpoint=False, dtype=np.float32)
        return chunks * (10 ** (decibels / 20)).reshape(chunks.shape)

    def _wanted(self) -> float:
        """Gain in dB for what is heard now."""
        overall = self._percentile(LOUD, self._percentile(LOUDEST, SILENCE) - HEARD)
        loud_now = float(np.percentile(self._recent, 50))
        return float(min(TARGET_LEVEL - max(loud_now, overall), MAX_GAIN))

    def _percentile(self, percent: float, above: float) -> float:
        """A percentile of the levels seen that lie above another one."""
        share = np.cumsum(np.where(self._edges > above, self._seen, 0.0))
        return float(self._edges[np.searchsorted(share, percent / 100 * share[-1])])

    def _bins(self, levels: np.ndarray) -> np.ndarray:
        return np.clip((levels - SILENCE) * BINS_PER_DB, 0, len(self._edges) - 1).astype(np.int64)
