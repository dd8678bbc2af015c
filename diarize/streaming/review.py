"""What is heard live, seen again: all of it clustered as a recording is, beside the stream.

Somebody new costs a small step at a time, taken on little evidence, and a small step does not take
back what another one did. A clustering of the whole has neither trouble. So it looks at what was
heard whenever that has grown by half, which costs three times the last look in all; later on at the
last twenty minutes, every ten.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any, ClassVar
from weakref import WeakSet

import numpy as np

from diarize.streaming.centroids import LiveCentroids

FIRST = 8  # windows that are clustered, four seconds of speech, of the first review
GROWTH = 1.5  # how many times as many there are at the next one
LAST = 2400  # of them that a review looks at, twenty minutes of speech
DELAY = 1.0  # seconds of sound that a review is given
LEAST = 0.2  # seconds that one which is wanted may be waited for
STREAMS = os.cpu_count() or 1  # at once, with more of which none is reviewed: cores are for speech

Look = Callable[[bool], "Future[Any]"]


@dataclass(eq=False)
class Review:
    """A review that is under way."""

    result: Future[Any]
    until: float  # seconds of sound at which it is wanted
    after: int  # windows that the live clustering had taken in when it began
    least: float  # seconds that it may be waited for, once, however late the stream is


class Reviews:
    """When there is one, and what comes of it.

    Args:
        live: what learns from them.
        look: begins one over the last of what was heard, in a thread; its argument says whether the
            band is narrow. Its result is what was clustered and how: vectors and a fitted
            clustering.
    """

    going_on: ClassVar[WeakSet[Reviews]] = WeakSet()  # of all streams

    def __init__(self, live: LiveCentroids, look: Look) -> None:
        self._live, self._look = live, look
        self._next = FIRST
        self._now: Review | None = None
        self.going_on.add(self)

    def end(self) -> None:
        """The stream has ended: nobody wants what is under way."""
        self.going_on.discard(self)
        if self._now is not None:
            self._now.result.cancel()

    def go_on(self, heard: float, n_windows: int, narrow: bool, patience: float) -> None:
        """Begin a review that is due, and learn from one that is done.

        Args:
            heard: seconds of sound so far.
            n_windows: that are clustered in hindsight, of that sound.
            narrow: whether its band is narrow.
            patience: seconds that a review which is wanted now may be waited for; the first time,
                `LEAST` in any case. One that is not done then is wanted still: what is said depends
                on how fast the machine is only where that is too slow.
        """
        if self._now is None:
            if n_windows >= self._next and len(self.going_on) <= STREAMS:
                self._next = min(int(np.ceil(n_windows * GROWTH)), n_windows + LAST // 2)
                result = self._look(narrow)
                self._now = Review(result, heard + DELAY, self._live.taken, LEAST)
            return
        if heard < self._now.until:
            return
        wait([self._now.result], max(self._now.least, patience))
        self._now.least = 0.0
        if self._now.result.done():
            rows, found = self._now.result.result()
            self._live.learn(rows, found.sets_, found.centroids_, self._now.after)
            self._now = None
