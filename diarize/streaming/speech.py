"""Regions of speech while they grow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from diarize.activity import SileroActivity
from diarize.activity.silero import CHUNK_SECONDS, LATE_END, LATENCY, SileroNetwork
from diarize.streaming.loudness import LiveLevel


@dataclass(eq=False)
class Region:
    """A stretch of speech, seconds; `end` is None for as long as it goes on."""

    start: float
    end: float | None = None


class LiveActivity:
    """Finds regions of speech as `SileroActivity` does, chunk after chunk.

    Attributes:
        regions: those found, in order; old ones are to be taken out by who has seen their end.
        sure: seconds up to which it is settled where there is speech.
    """

    def __init__(self, options: SileroActivity) -> None:
        self._network = SileroNetwork()
        self._level = LiveLevel()
        self._threshold = options.threshold
        self._min_speech = options.min_speech
        self._pad = options.pad
        self._after = options.pad - LATE_END  # from the end of a run to that of its region
        # Padded regions that touch are one; neighbouring chunks have no silence between them.
        self._min_silence = max(options.min_silence, self._pad + self._after, CHUNK_SECONDS / 2)
        self._n_chunks = 0
        self._on = False
        self._run: tuple[float, float] | None = None  # unpadded; its end is now while on
        self._open: Region | None = None  # of that run, once it is long enough
        self.regions: list[Region] = []
        self.sure = 0.0

    @property
    def slowness(self) -> float:
        """Seconds by which `sure` may stay behind the sound, at most."""
        # Short speech, then silence, and neither is known to be long enough.
        return LATENCY + max(self._pad, -self._after) + self._min_speech + self._min_silence

    def push(self, chunks: Float32[np.ndarray, "n 512"]) -> None:
        """Hear the chunks that follow those of the last call."""
        for probability in self._network(self._level(chunks)).tolist():
            self._hear(probability, self._n_chunks * CHUNK_SECONDS - LATENCY)
            self._n_chunks += 1
        self.sure = max(self.sure, self._settled())

    def finish(self, duration: float) -> None:
        """There is no more sound; what is on stays on to the end."""
        if self._run is not None:
            begin, end = self._run
            self._run = (begin, duration if self._on else end)
            self._confirm()
            self._close(duration if self._on else end + self._after)
        for region in self.regions:
            region.end = duration if region.end is None else min(region.end, duration)
        self.sure = duration

    def _hear(self, probability: float, begin: float) -> None:
        """One chunk, whose sound is taken to begin at `begin`."""
        self._on = probability >= self._threshold
        end = begin + CHUNK_SECONDS
        if self._on:
            if self._run is not None and begin - self._run[1] >= self._min_silence - 1e-9:
                self._close(self._run[1] + self._after)
            self._run = (begin if self._run is None else self._run[0], end)
            self._confirm()
        elif self._run is not None and end - self._run[1] >= self._min_silence - 1e-9:
            self._close(self._run[1] + self._after)

    def _confirm(self) -> None:
        assert self._run is not None
        begin, end = self._run
        if self._open is None and end - begin >= self._min_speech - 1e-9:
            self._open = Region(max(0.0, begin - self._pad))
            self.regions.append(self._open)

    def _close(self, end: float) -> None:
        if self._open is not None:
            self._open.end = end
        self._run = self._open = None

    def _settled(self) -> float:
        now = self._n_chunks * CHUNK_SECONDS - LATENCY
        if self._run is None:
            return now - self._pad
        if self._open is None:
            return self._run[0] - self._pad
        return min(now, self._run[1] + self._after)  # it may have ended already
