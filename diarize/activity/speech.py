"""Where there is speech, by how many people are heard at each instant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from diarize.activity.counts import INSTANT, Heard, VoiceCounts
from diarize.activity.regions import (
    clip_regions,
    require_bounds,
    runs,
    with_hysteresis,
    without_short,
)

HYSTERESIS = 0.75  # of the probability with which speech begins; under that it ends


@dataclass(frozen=True, kw_only=True)
class SpeechByCounts:
    """Where there is speech, by the probability that somebody is heard at each instant.

    Attributes:
        threshold: probability of speech with which a region begins, 0 to 1; it goes on for as long
            as the probability is above three quarters of that.
        min_speech: seconds; shorter speech is dropped.
        min_silence: seconds; shorter silence within speech is filled.
    """

    threshold: float = 0.6
    min_speech: float = 0.1
    min_silence: float = 0.2

    def __post_init__(self) -> None:
        require_bounds(self.threshold, min_speech=self.min_speech, min_silence=self.min_silence)

    @property
    def lower(self) -> float:
        """Probability of speech under which a region ends."""
        return self.threshold * HYSTERESIS

    def heard(
        self, start: float, probabilities: Float32[np.ndarray, "n 4"], seconds: float
    ) -> Heard:
        """What was heard in so many seconds from `start` on."""
        on = with_hysteresis(1 - probabilities[:, 0], self.threshold, self.lower)
        found = start + without_short(runs(on) * INSTANT, self.min_silence, self.min_speech)
        regions = clip_regions(found, start, start + seconds)
        return Heard(regions, VoiceCounts(start, probabilities))
