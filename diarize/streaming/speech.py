"""Regions of speech while they grow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(eq=False)
class Region:
    """A stretch of speech, seconds; `end` is None for as long as it goes on."""

    start: float
    end: float | None = None


class SpeechRegions:
    """Makes regions of what is or is no speech, unit of time after unit of time.

    Args:
        unit: seconds for which one answer stands.
        min_speech: seconds; shorter speech is dropped.
        min_silence: seconds; shorter silence within speech is filled.
        late: seconds by which an answer comes later than its sound.
        late_end: seconds by which the end of a run of speech comes later still.

    Attributes:
        found: in order; old ones are to be taken out by who has seen their end.
        sure: seconds up to which it is settled where there is speech.
    """

    def __init__(
        self,
        unit: float,
        min_speech: float,
        min_silence: float,
        *,
        late: float = 0.0,
        late_end: float = 0.0,
    ) -> None:
        self._unit, self._min_speech, self._late = unit, min_speech, late
        self._late_end = late_end
        self._min_silence = max(min_silence, unit / 2)  # neighbouring units have none between them
        self._n = 0
        self._on = False
        self._run: tuple[float, float] | None = None  # its end is now while on
        self._open: Region | None = None  # of that run, once it is long enough
        self.found: list[Region] = []
        self.sure = 0.0

    @property
    def slowness(self) -> float:
        """Seconds by which `sure` may stay behind the answers, at most."""
        # Short speech, then silence, and neither is known to be long enough.
        return self._late + self._late_end + self._min_speech + self._min_silence

    def push(self, answers: Iterable[bool]) -> None:
        """Take in whether there is speech in the units that follow those of the last call."""
        for on in answers:
            self._hear(on, self._n * self._unit - self._late)
            self._n += 1
        self.sure = max(self.sure, self._settled())

    def finish(self, duration: float) -> None:
        """There is no more sound; what is on stays on to the end."""
        if self._run is not None:
            begin, end = self._run
            self._run = (begin, duration if self._on else end)
            self._confirm()
            self._close(duration if self._on else end - self._late_end)
        for region in self.found:
            region.end = duration if region.end is None else min(region.end, duration)
        self.sure = duration

    def _hear(self, on: bool, begin: float) -> None:
        """One unit, whose sound is taken to begin at `begin`."""
        self._on = on
        end = begin + self._unit
        if on:
            if self._run is not None and begin - self._run[1] >= self._min_silence - 1e-9:
                self._close(self._run[1] - self._late_end)
            self._run = (begin if self._run is None else self._run[0], end)
            self._confirm()
        elif self._run is not None and end - self._run[1] >= self._min_silence - 1e-9:
            self._close(self._run[1] - self._late_end)

    def _confirm(self) -> None:
        assert self._run is not None
        begin, end = self._run
        if self._open is None and end - begin >= self._min_speech - 1e-9:
            self._open = Region(max(0.0, begin))
            self.found.append(self._open)

    def _close(self, end: float) -> None:
        if self._open is not None:
            self._open.end = end
        self._run = self._open = None

    def _settled(self) -> float:
        now = self._n * self._unit - self._late
        if self._run is None:
            return now
        if self._open is None:
            return self._run[0]
        return min(now, self._run[1] - self._late_end)  # it may have ended already
