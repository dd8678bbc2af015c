"""Rejection of what sounds like speech and is no voice: tones, instruments and machines.

The network says of each instant, beside how many speak, how surely it is a voice that is heard. For
a moment a flute may pass for one; over seconds none does. So the mean counts, over what is heard
around: where it is low, nobody speaks.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float32, Float64

from diarize.activity.counter import MOST
from diarize.activity.counts import INSTANT

LEAST = -1.0  # mean log-odds, below which what is heard is rejected
SUREST = 6.0  # log-odds beyond which no instant counts for more
MEMORY = 10.0  # seconds of what is heard after which its weight has fallen to 1 / e
AT_ONCE = 4096  # instants that are summed at a time, in which no weight falls below 1e-4
HEARD = 0.5  # probability from which on the network hears speech
# A stream has not heard what follows: to begin with it is granted half a second of a voice.
CREDIT, CREDIT_SECONDS = 1.0, 0.5

Counts = Float32[np.ndarray, "n 4"]
Voiced = Float32[np.ndarray, "n"]


def reject_non_voices(counts: Counts, voiced: Voiced) -> Counts:
    """Let nobody speak where it is no voice, by what is heard before and after.

    Args:
        counts: probabilities of none, one, two, three or more voices, every 20 ms.
        voiced: log-odds that what is heard is a voice, in the same instants.
    """
    on, sure = _heard(counts, voiced)
    if not len(sure):
        return counts
    both = np.stack([sure, np.ones(len(sure))])
    before, _ = _leaking(both, np.zeros(2))
    after, _ = _leaking(both[:, ::-1], np.zeros(2))
    total, weight = before + after[:, ::-1] - both
    return _without(counts, on, total < LEAST * weight)


class LiveRejection:
    """The same for a stream, from what was heard before alone."""

    def __init__(self) -> None:
        self._state = np.array([CREDIT, 1.0]) * CREDIT_SECONDS / INSTANT

    def __call__(self, counts: Counts, voiced: Voiced) -> Counts:
        """Take in the instants that follow those of the last call."""
        on, sure = _heard(counts, voiced)
        if not len(sure):
            return counts
        (total, weight), self._state = _leaking(np.stack([sure, np.ones(len(sure))]), self._state)
        return _without(counts, on, total < LEAST * weight)


def _heard(
    counts: Counts, voiced: Voiced
) -> tuple[Bool[np.ndarray, "n"], Float64[np.ndarray, "heard"]]:
    """In which instants speech is heard, and how surely it is a voice there."""
    on = 1 - counts[:, 0] >= HEARD
    return on, np.clip(voiced[on].astype(np.float64), -SUREST, SUREST)


def _leaking(
    values: Float64[np.ndarray, "2 heard"], before: Float64[np.ndarray, "2"]
) -> tuple[Float64[np.ndarray, "2 heard"], Float64[np.ndarray, "2"]]:
    """Sums up to each instant, of which each instant forgets a share, and the last ones."""
    # As scipy.signal.lfilter, which takes longer to load than all else here to compute.
    sums = np.empty_like(values)
    for start in range(0, values.shape[1], AT_ONCE):
        block, found = (each[:, start : start + AT_ONCE] for each in (values, sums))
        kept = np.exp(-INSTANT / MEMORY * np.arange(1, block.shape[1] + 1))
        found[:] = kept * (before[:, None] + (block / kept).cumsum(axis=1))
        before = found[:, -1]
    return sums, before


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
