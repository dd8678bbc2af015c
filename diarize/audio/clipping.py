"""Peaks that were cut off: the ends of a flat top say how the curve went on between them.

A cut adds overtones that no voice has: a telephone call seems to have a wide band, and people are
taken for each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float32

SHORTEST = 3  # equal samples that are a flat top; at full scale one is
FULL_SCALE = 0.9999
LONGEST = 0.005  # seconds; what is longer is no peak
HEIGHTS = (0.05, 100.0)  # quieter, samples of few bits are equal by themselves
MOST = 4.0  # times the flat top's height, which a peak is given at most
_BESIDE = 2  # samples on each side, which say where the curve comes from and goes to


def unclipped(
    pieces: Iterable[Float32[np.ndarray, "_ channels"]], rate: int
) -> Iterator[Float32[np.ndarray, "_ channels"]]:
    """Give flat tops the peaks that the curve beside them leads to.

    Args:
        pieces: of the signal, one after the other. The samples do not depend on where they end.
        rate: Hz.
    """
    longest = max(SHORTEST, round(LONGEST * rate))
    around = longest + 2 * _BESIDE  # samples that one flat top concerns
    held: np.ndarray | None = None
    done = 0  # frames of those held that were given before
    for piece in pieces:
        held = piece if held is None else np.concatenate([held, piece])
        ready = len(held) - around
        if ready > done:
            yield _restored(held, longest)[done:ready]
            held = held[max(0, ready - around) :]
            done = min(ready, around)
    if held is not None and len(held) > done:
        yield _restored(held, longest)[done:]


def _restored(
    frames: Float32[np.ndarray, "frames channels"], longest: int
) -> Float32[np.ndarray, "frames channels"]:
    samples = frames.T.ravel()  # one channel after the other
    begins, ends = _flat_tops(samples, len(frames), longest)
    if not len(begins):
        return frames
    samples = samples.copy()
    _raise(samples, begins, ends)
    return np.ascontiguousarray(samples.reshape(-1, len(frames)).T)


def _raise(samples: Float32[np.ndarray, " n"], begins: np.ndarray, ends: np.ndarray) -> None:
    """Put peaks on flat tops: cubics through the samples beside each, along their slopes there."""
    before, behind = samples[begins - 1], samples[ends]
    rise, fall = before - samples[begins - 2], samples[ends + 1] - behind
    lengths = ends - begins
    top = np.repeat(np.arange(len(begins)), lengths)
    places = np.arange(len(top)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    span = (lengths + 1)[top].astype(np.float32)
    t = (places + 1) / span
    curve = (
        (1 + 2 * t) * (1 - t) ** 2 * before[top]
        + t * (1 - t) ** 2 * span * rise[top]
        + t**2 * (3 - 2 * t) * behind[top]
        + t**2 * (t - 1) * span * fall[top]
    )
    level = samples[begins][top]
    samples[begins[top] + places] = level * np.clip(curve / level, 1, MOST)


def _flat_tops(
    samples: Float32[np.ndarray, " n"], each: int, longest: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where runs of one value begin and end, from which the curve falls on both sides.

    Args:
        samples: of channels, one after the other.
        each: samples of each channel.
        longest: run.
    """
    equal = samples[1:] == samples[:-1]
    equal[each - 1 :: each] = False  # a run ends with its channel
    found = np.zeros(len(samples), bool)
    found[:-1] |= equal
    found[1:] |= equal
    if max(samples.max(), -samples.min()) >= FULL_SCALE:
        found |= np.abs(samples) >= FULL_SCALE
    at = np.flatnonzero(found)  # few, of a voice
    heights = np.abs(samples[at])
    at = at[(heights >= HEIGHTS[0]) & (heights <= HEIGHTS[1])]
    first = np.ones(len(at), bool)  # of a run
    first[1:] = (np.diff(at) > 1) | ~equal[at[1:] - 1]
    begins, ends = at[first], at[np.roll(first, -1)] + 1
    lengths, places, heights = ends - begins, begins % each, np.abs(samples[begins])
    flat = (heights >= FULL_SCALE) & (heights <= 1) | (lengths >= SHORTEST)
    flat &= lengths <= longest
    flat &= (places >= _BESIDE) & (places + lengths + _BESIDE <= each)
    begins, ends = begins[flat], ends[flat]
    level = samples[begins]
    extreme = (samples[begins - 1] / level < 1) & (samples[ends] / level < 1)
    return begins[extreme], ends[extreme]
