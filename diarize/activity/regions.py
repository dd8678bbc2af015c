"""Regions of time, in seconds: arrays of shape (m, 2), sorted and disjoint."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float32, Float64, Int64

from diarize.errors import InputError

if TYPE_CHECKING:
    from pyannote.core import Timeline

    from diarize.audio import Recording


ROUNDING = 1e-9  # seconds; what is as long as is asked for, but for rounding, is long enough


def require_bounds(threshold: float, **durations: float) -> None:
    """Refuse a probability from which on there is speech, or seconds, that mean nothing.

    Raises:
        InputError: the threshold lies outside (0, 1), or a duration, by its name, is not from 0 on.
    """
    if not 0 < threshold < 1:
        raise InputError(f"the activity threshold lies between 0 and 1, not {threshold}")
    for name, seconds in durations.items():
        if not 0 <= seconds < math.inf:
            raise InputError(f"{name} is a number of seconds from 0 on, not {seconds}")


def whole(recording: Recording, hook: Any = None) -> Float64[np.ndarray, "1 2"]:
    """Give a recording, or the part of it that is read, as one region; there is no progress."""
    return np.array([[recording.start, recording.start + recording.duration]])


def regions_of(timeline: Timeline) -> Float64[np.ndarray, "m 2"]:
    """Begin and end of each segment, seconds, in order of time; disjoint if they are."""
    return np.array([(s.start, s.end) for s in timeline], np.float64).reshape(-1, 2)


def seconds_in(
    stretches: Float64[np.ndarray, "n 2"], regions: Float64[np.ndarray, "m 2"]
) -> Float64[np.ndarray, " n"]:
    """How many seconds of each stretch lie in the regions."""
    if not len(regions):
        return np.zeros(len(stretches))
    times = regions.ravel()
    # What lies in them up to an instant is linear between their edges.
    inside = np.cumsum(np.diff(times, prepend=times[0]) * (np.arange(len(times)) % 2))
    begin, end = np.interp(stretches.T, times, inside)
    return np.asarray(end - begin)


def disjoint_regions(regions: Any) -> Float64[np.ndarray, "k 2"]:
    """Regions in any order, which may overlap, as sorted and disjoint ones.

    Raises:
        InputError: they are no pairs of seconds, or one ends before it begins.
    """
    try:
        pairs = np.asarray(regions, np.float64)
    except (TypeError, ValueError):
        pairs = np.zeros(())
    pairs = pairs.reshape(-1, 2) if not pairs.size else pairs
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not (pairs[:, 1] >= pairs[:, 0]).all():
        raise InputError("regions of speech are pairs of seconds, a begin and an end")
    pairs = pairs[np.lexsort(pairs.T[::-1])]
    ends = np.maximum.accumulate(pairs[:, 1])
    apart = pairs[1:, 0] >= ends[:-1]
    first, last = np.ones(len(pairs), bool), np.ones(len(pairs), bool)
    first[1:] = last[:-1] = apart
    return np.stack([pairs[first, 0], ends[last]], axis=1)


def clip_regions(
    regions: Float64[np.ndarray, "m 2"], start: float, end: float
) -> Float64[np.ndarray, "k 2"]:
    """Keep what of the regions lies between two times; nothing empty remains."""
    clipped = np.clip(regions, start, end)
    return clipped[clipped[:, 1] > clipped[:, 0]]


def with_hysteresis(
    values: Float32[np.ndarray, "n"], upper: float, lower: float
) -> Bool[np.ndarray, "n"]:
    """Tell where values are on: from reaching `upper` on until they fall below `lower`."""
    decided = (values >= upper) | (values < lower)
    # The last decided place at or before each place; before the first one nothing is on.
    last = np.maximum.accumulate(np.where(decided, np.arange(len(values)), -1))
    return (last >= 0) & (values[last] >= upper)


def runs(on: Bool[np.ndarray, "n"]) -> Int64[np.ndarray, "m 2"]:
    """Find the runs of true values: first index, and one past the last."""
    changes = np.diff(on.astype(np.int8), prepend=0, append=0)
    return np.stack([np.flatnonzero(changes == 1), np.flatnonzero(changes == -1)], axis=1)


def without_short(
    regions: Float64[np.ndarray, "m 2"], gap: float, shortest: float
) -> Float64[np.ndarray, "k 2"]:
    """Close gaps shorter than `gap`, then drop regions shorter than `shortest`, both seconds."""
    closed = close_gaps(regions, gap)
    return closed[closed[:, 1] - closed[:, 0] >= shortest - ROUNDING]


def close_gaps(regions: Float64[np.ndarray, "m 2"], shortest: float) -> Float64[np.ndarray, "k 2"]:
    """Join sorted regions with gaps shorter than `shortest` seconds between them, or none."""
    if not len(regions):
        return regions
    gaps = regions[1:, 0] - regions[:-1, 1]
    apart = (gaps >= shortest - ROUNDING) & (gaps > 0)
    return np.stack(
        [regions[np.append(True, apart), 0], regions[np.append(apart, True), 1]], axis=1
    )
