"""What follows for the decoding from how many people were heard to speak at each instant."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from diarize.activity.counts import INSTANT, VoiceCounts

LEAST = 1e-4  # probability below which nothing is told apart


def surprise(
    voices: VoiceCounts, cells: Float64[np.ndarray, "cells 2"], largest: int
) -> Float64[np.ndarray, "cells sizes"]:
    """Say how improbable each number of voices is, on average over a cell.

    Args:
        voices: how many were heard.
        cells: stretches of time, seconds.
        largest: number of voices of the last column; from three on, all are alike.

    Returns:
        -log P in nats, for 0 to `largest` voices.
    """
    nats = -np.log(np.maximum(voices.probabilities.astype(np.float64), LEAST))
    # Integrals from the start, so that each cell takes two look-ups however long it is.
    total = np.concatenate([np.zeros((1, nats.shape[1])), np.cumsum(nats, axis=0)]) * INSTANT
    times = np.arange(len(total)) * INSTANT + voices.start
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
    voices: VoiceCounts,
    stretches: Float64[np.ndarray, "m 2"],
    before: Int64[np.ndarray, "m"],
    after: Int64[np.ndarray, "m"],
) -> Float64[np.ndarray, "m"]:
    """Say when a number of voices gives way to another one, to the instant.

    Args:
        voices: how many were heard.
        stretches: seconds between which each change lies.
        before: how many speak until then.
        after: how many do from there on.

    Returns:
        The likeliest time of each change.
    """
    first = np.floor((stretches[:, 0] - voices.start) / INSTANT + 0.5).astype(np.int64)
    length = np.round((stretches[:, 1] - stretches[:, 0]) / INSTANT).astype(np.int64)
    rows = first[:, None] + np.arange(length.max(initial=0))  # (m, longest)
    nats = -np.log(np.maximum(voices.probabilities.astype(np.float64), LEAST))
    own = nats[np.clip(rows, 0, len(nats) - 1)]  # (m, longest, 4)
    most = nats.shape[1] - 1
    each = np.arange(len(own))
    gain = own[each, :, np.minimum(before, most)] - own[each, :, np.minimum(after, most)]
    gain[np.arange(gain.shape[1]) >= length[:, None]] = np.inf  # beyond the stretch
    # What it costs to change at the beginning, after the first instant, and so on.
    cost = np.concatenate([np.zeros((len(own), 1)), np.cumsum(gain, axis=1)], axis=1)
    times = voices.start + (first + cost.argmin(axis=1)) * INSTANT
    return np.clip(times, stretches[:, 0], stretches[:, 1])
