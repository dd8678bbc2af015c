"""How many people speak at each instant, as probabilities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float32, Float64

from diarize.activity.regions import clip_regions, disjoint_regions, runs, without_short

INSTANT = 0.02  # seconds for which one row of probabilities stands
SHORTEST = 0.1  # seconds in which several must be heard for it to be told

STEP = "activity"
"""The name under which a detector tells of its progress."""

Activity = Callable[..., "Heard | Float64[np.ndarray, 'm 2']"]
"""Where there is speech: of a recording and a hook, what is heard or regions in seconds."""


@dataclass(frozen=True, eq=False)
class VoiceCounts:
    """Probabilities of none, one, two, three or more voices, every 20 ms.

    Attributes:
        start: seconds of the file's time at which the first instant begins.
        probabilities: shape (n, 4), rows add up to one.
    """

    start: float
    probabilities: Float32[np.ndarray, "n 4"]

    @property
    def overlap(self) -> Float32[np.ndarray, "n"]:
        """Probability of each instant that two or more voices are heard."""
        found: Float32[np.ndarray, "n"] = self.probabilities[:, 2:].sum(axis=1)
        return found

    def several(self, end: float) -> Float64[np.ndarray, "m 2"]:
        """Regions until `end` in which two or more voices are more probable than fewer, seconds.

        Gaps and regions of less than `SHORTEST` do not count.
        """
        found = runs(self.overlap > 0.5) * INSTANT
        regions = self.start + without_short(found, SHORTEST, SHORTEST)
        return clip_regions(regions, self.start, end)

    def mean(
        self, values: Float[np.ndarray, "n m"], cells: Float64[np.ndarray, "cells 2"]
    ) -> Float64[np.ndarray, "cells m"]:
        """Average over cells of time, seconds, what is known of each instant."""
        # Integrals from the start, so that each cell takes two look-ups however long it is.
        sums = np.cumsum(values, axis=0, dtype=np.float64)
        total = np.concatenate([np.zeros((1, values.shape[1])), sums]) * INSTANT
        times = np.arange(len(total)) * INSTANT + self.start
        lengths = np.maximum(cells[:, 1] - cells[:, 0], 1e-9)
        within = [np.diff(np.interp(cells, times, column))[:, 0] for column in total.T]
        return np.stack([own / lengths for own in within], axis=1)


@dataclass(frozen=True, eq=False)
class Heard:
    """What was heard in a recording before anybody asked who it is.

    Attributes:
        regions: of speech, seconds of the file's time, sorted and disjoint, shape (m, 2).
        counts: how many speak at each instant; None: nobody listened for that.
    """

    regions: Float64[np.ndarray, "m 2"]
    counts: VoiceCounts | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        """As arrays, to be kept in a file."""
        if self.counts is None:
            return {"regions": self.regions}
        start, probabilities = np.array(self.counts.start), self.counts.probabilities
        return {"regions": self.regions, "start": start, "probabilities": probabilities}

    @classmethod
    def of(cls, found: Any) -> Heard:
        """Take what an activity gave: all of this, or regions alone, in any order.

        Raises:
            InputError: regions that are none.
        """
        return found if isinstance(found, Heard) else cls(disjoint_regions(found))

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Heard:
        """What `arrays` gave."""
        if "start" not in arrays:
            return cls(arrays["regions"])
        counts = VoiceCounts(float(arrays["start"]), arrays["probabilities"])
        return cls(arrays["regions"], counts)
