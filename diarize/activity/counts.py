"""How many people speak at each instant, as probabilities, and what follows from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32, Float64, Int64

from diarize.activity.regions import ROUNDING, close_gaps, runs, with_hysteresis

INSTANT = 0.02  # seconds for which one row of probabilities stands
LEAST = 1e-4  # probability below which nothing is told apart

Hook = Callable[[str, float, float], None]
"""Told of progress: `hook(step, done, total)`."""

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

    def surprise(
        self, cells: Float64[np.ndarray, "cells 2"], largest: int
    ) -> Float64[np.ndarray, "cells sizes"]:
        """Say how improbable each number of voices is, on average over a cell.

        Args:
            cells: stretches of time, seconds.
            largest: number of voices of the last column; from three on, all are alike.

        Returns:
            -log P in nats, for 0 to `largest` voices.
        """
        nats = -np.log(np.maximum(self.probabilities.astype(np.float64), LEAST))
        # Integrals from the start, so that each cell takes two look-ups however long it is.
        total = np.concatenate([np.zeros((1, nats.shape[1])), np.cumsum(nats, axis=0)]) * INSTANT
        times = np.arange(len(total)) * INSTANT + self.start
        lengths = np.maximum(cells[:, 1] - cells[:, 0], 1e-9)
        mean = np.stack(
            [
                (np.interp(cells[:, 1], times, column) - np.interp(cells[:, 0], times, column))
                / lengths
                for column in total.T
            ],
            axis=1,
        )
        sizes = np.minimum(np.arange(largest + 1), nats.shape[1] - 1)
        return mean[:, sizes]

    def changes(
        self,
        stretches: Float64[np.ndarray, "m 2"],
        before: Int64[np.ndarray, "m"],
        after: Int64[np.ndarray, "m"],
    ) -> Float64[np.ndarray, "m"]:
        """Say when a number of voices gives way to another one, to the instant.

        Args:
            stretches: seconds between which each change lies.
            before: how many speak until then.
            after: how many do from there on.

        Returns:
            The likeliest time of each change.
        """
        first = np.floor((stretches[:, 0] - self.start) / INSTANT + 0.5).astype(np.int64)
        length = np.round((stretches[:, 1] - stretches[:, 0]) / INSTANT).astype(np.int64)
        rows = first[:, None] + np.arange(length.max(initial=0))  # (m, longest)
        nats = -np.log(np.maximum(self.probabilities.astype(np.float64), LEAST))
        own = nats[np.clip(rows, 0, len(nats) - 1)]  # (m, longest, 4)
        most = nats.shape[1] - 1
        each = np.arange(len(own))
        gain = own[each, :, np.minimum(before, most)] - own[each, :, np.minimum(after, most)]
        gain[np.arange(gain.shape[1]) >= length[:, None]] = np.inf  # beyond the stretch
        # What it costs to change at the beginning, after the first instant, and so on.
        cost = np.concatenate([np.zeros((len(own), 1)), np.cumsum(gain, axis=1)], axis=1)
        times = self.start + (first + cost.argmin(axis=1)) * INSTANT
        return np.clip(times, stretches[:, 0], stretches[:, 1])

    def speech(
        self, threshold: float, lower: float, min_speech: float, min_silence: float
    ) -> Float64[np.ndarray, "m 2"]:
        """Regions in which somebody speaks, seconds of the file's time.

        Args:
            threshold: probability of speech with which a region begins.
            lower: probability under which it ends.
            min_speech: seconds; shorter regions are dropped.
            min_silence: seconds; shorter gaps are closed.
        """
        found = runs(with_hysteresis(1 - self.probabilities[:, 0], threshold, lower)) * INSTANT
        found = close_gaps(found, min_silence)
        found = found[found[:, 1] - found[:, 0] >= min_speech - ROUNDING]
        return self.start + found

    def likeliest(self) -> Int64[np.ndarray, "n"]:
        """The most probable number of voices of each instant."""
        return self.probabilities.argmax(axis=1)


@dataclass(frozen=True, eq=False)
class Heard:
    """What was heard in a recording before anybody asked who it is.

    Attributes:
        regions: of speech, seconds of the file's time, sorted and disjoint, shape (m, 2).
        voices: how many speak at each instant; None: nobody listened for that.
    """

    regions: Float64[np.ndarray, "m 2"]
    voices: VoiceCounts | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        """As arrays, to be kept in a file."""
        if self.voices is None:
            return {"regions": self.regions}
        start = np.array(self.voices.start)
        return {
            "regions": self.regions,
            "start": start,
            "probabilities": self.voices.probabilities,
        }

    @classmethod
    def of(cls, found: Heard | Float64[np.ndarray, "m 2"]) -> Heard:
        """Take what an activity gave: all of this, or regions alone."""
        return found if isinstance(found, Heard) else cls(found)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Heard:
        """What `arrays` gave."""
        if "start" not in arrays:
            return cls(arrays["regions"])
        voices = VoiceCounts(float(arrays["start"]), arrays["probabilities"])
        return cls(arrays["regions"], voices)
