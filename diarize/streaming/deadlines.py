"""By when what was heard must be spoken of, where sound stalls."""

from __future__ import annotations

from collections import deque

STALL = 0.05  # seconds before a deadline at which nothing more is waited for
RECORDED = 0.1  # seconds; the beginning of a shorter block is as old as the block is long


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
