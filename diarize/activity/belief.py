"""Speech that nobody is sure of: tones, instruments and machines, which the network takes for it.

Silero-vad has heard far more of them and says next to nothing there, but says little of far and
quiet speech as well, of which the network is sure. So the mean of what both say counts, over the
speech that is heard around: where it is low, nobody speaks.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Bool, Float32, Float64
from scipy.signal import lfilter

from diarize.activity.counter import MOST
from diarize.activity.counts import INSTANT

LEAST = 0.51  # mean probability, by the network and by silero-vad, of what is believed
MEMORY = 10.0  # seconds of speech after which its weight has fallen to 1 / e
HEARD = 0.5  # probability from which on the network hears speech
# A stream has not heard what follows: to begin with it believes in half a second of speech.
CREDIT, CREDIT_SECONDS = 0.55, 0.5

Counts = Float32[np.ndarray, "n 4"]
Said = Float32[np.ndarray, "n"]


def believed(counts: Counts, said: Said) -> Counts:
    """Let nobody speak where neither is sure, from what is heard before and after.

    Args:
        counts: probabilities of none, one, two, three or more voices, every 20 ms.
        said: probabilities of speech by silero-vad, in the same instants.
    """
    on, sure = _heard(counts, said)
    if not len(sure):
        return counts
    both = np.stack([sure, np.ones(len(sure))])
    before, _ = _leaking(both, np.zeros(2))
    after, _ = _leaking(both[:, ::-1], np.zeros(2))
    total, weight = before + after[:, ::-1] - both
    return _without(counts, on, total < LEAST * weight)


class Belief:
    """The same for a stream, from what was heard before alone."""

    def __init__(self) -> None:
        self._state = np.array([CREDIT, 1.0]) * CREDIT_SECONDS / INSTANT

    def __call__(self, counts: Counts, said: Said) -> Counts:
        """Take in the instants that follow those of the last call."""
        on, sure = _heard(counts, said)
        if not len(sure):
            return counts
        (total, weight), self._state = _leaking(np.stack([sure, np.ones(len(sure))]), self._state)
        return _without(counts, on, total < LEAST * weight)


def _heard(
    counts: Counts, said: Said
) -> tuple[Bool[np.ndarray, "n"], Float64[np.ndarray, "heard"]]:
    """In which instants speech is heard, and the mean of what both say there."""
    speech = 1 - counts[:, 0]
    on = speech >= HEARD
    return on, (speech[on] + said[on]).astype(np.float64) / 2


def _leaking(
    values: Float64[np.ndarray, "2 heard"], before: Float64[np.ndarray, "2"]
) -> tuple[Float64[np.ndarray, "2 heard"], Float64[np.ndarray, "2"]]:
    """Sums up to each instant, of which each instant forgets a share, and the last ones."""
    kept = math.exp(-INSTANT / MEMORY)
    sums, _ = lfilter([1.0], [1.0, -kept], values, zi=kept * before[:, None])
    return sums, sums[:, -1]


def _without(
    counts: Counts, on: Bool[np.ndarray, "n"], doubted: Bool[np.ndarray, "heard"]
) -> Counts:
    """The same, but nobody in the doubted ones of these instants."""
    nobody = np.flatnonzero(on)[doubted]
    if not len(nobody):
        return counts
    counts = counts.copy()
    counts[nobody] = np.eye(1, MOST + 1, dtype=np.float32)
    return counts
