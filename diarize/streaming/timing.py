"""What a promised latency leaves time for, and by when what was heard must be spoken of."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

from diarize.activity.level import CHUNK
from diarize.activity.silero import CHUNK_SECONDS
from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError

MARGIN = 0.1  # seconds for the computing itself
HOPS = 5.5  # into which a latency is divided, or more: work is done once in each
MOST_CHUNKS = 16  # in one of them, 0.5 s
LONGEST = 60.0  # seconds
STALL = 0.05  # seconds before a deadline at which nothing more is waited for
RECORDED = 0.1  # seconds; the beginning of a shorter block is as old as the block is long


@dataclass(frozen=True)
class Timing:
    """When what is said.

    Attributes:
        hop: samples at 16 kHz that are worked on at a time.
        delay: seconds after which a stretch of sound must be decided on, counted when a hop is
            done: the next hop would be too late.
    """

    hop: int
    delay: float


def time_to_hear(latency: float, resampling: float) -> tuple[float, float]:
    """Seconds after which sound must be understood; `resampling` makes it later by so many.

    Returns:
        If work is not to be done more often for it; and if it is done as often as can be.
    """
    bounded = _bounded(latency)
    spare = bounded - resampling - MARGIN
    return spare - min(bounded / HOPS, MOST_CHUNKS * CHUNK_SECONDS), spare - CHUNK_SECONDS


def plan(latency: float, resampling: float, slowness: float) -> Timing:
    """Divide a latency.

    Args:
        latency: seconds from sound to line.
        resampling: seconds by which resampled sound comes later, at most.
        slowness: seconds until it is known whether sound is speech, and its cell is over.

    Raises:
        InputError: the promise cannot be kept.
    """
    bounded = _bounded(latency)
    spare = bounded - resampling - MARGIN - slowness
    chunks = int(min(bounded / HOPS, spare) / CHUNK_SECONDS + 1e-9)
    if chunks < 1:
        least = CHUNK_SECONDS + resampling + MARGIN + slowness
        raise InputError(
            f"a latency of {latency:g} s cannot be promised: it lies between "
            f"{math.ceil(least * 10) / 10:g} and {LONGEST:g} s"
        )
    hop = min(MOST_CHUNKS, chunks) * CHUNK
    delay = bounded - hop / SAMPLE_RATE - resampling - MARGIN
    return Timing(hop, delay)


def _bounded(latency: float) -> float:
    return latency if 0 < latency <= LONGEST else 0.0


class Deadlines:
    """Which sound must be decided on, although what follows it does not come."""

    def __init__(self, latency: float) -> None:
        self._latency = latency
        # When the sound of a block began, by a clock, and seconds of sound at its end.
        self._arrived: deque[tuple[float, float]] = deque()

    def heard(self, now: float, before: float, after: float) -> None:
        """A block came at `now`, on the clock: sound from `before` to `after`, seconds."""
        self._arrived.append((now - min(after - before, RECORDED), after))

    def decided(self, until: float) -> None:
        """All sound before was spoken of."""
        while self._arrived and self._arrived[0][1] <= until:
            self._arrived.popleft()

    def patience(self, now: float, most: float) -> float:
        """Seconds that may be waited for more sound, at most `most`."""
        if not self._arrived:
            return most
        return min(most, max(0.0, self._arrived[0][0] + self._latency - STALL - now))

    def due(self, now: float) -> float:
        """Seconds of sound up to which must be decided now; 0: nothing must be."""
        until = 0.0
        while self._arrived and self._arrived[0][0] + self._latency - STALL <= now:
            until = self._arrived.popleft()[1]
        return until
