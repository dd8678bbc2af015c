"""Who speaks during a stretch of time: who holds most of it, and who else is heard in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Float64
from pyannote.core import Segment, Timeline

from diarize.activity.regions import regions_of, seconds_in
from diarize.formats.turns import Turn, exclusive

_DECIMALS = 6  # of seconds, below which two shares are one


def holders(stretches: Float64[np.ndarray, "n 2"], turns: Sequence[Turn]) -> list[tuple[str, ...]]:
    """The speakers of each stretch: first who holds most of it, then who else is heard in it.

    Of speakers who hold the same share, as in a word that is said while two speak all the time, the
    one whose turn began first comes first. A stretch in which nobody speaks goes to the nearest
    turn, and to nobody where there are no turns.
    """
    names = sorted({turn.speaker for turn in turns})
    if not names or not len(stretches):
        return [()] * len(stretches)
    held = _shares(stretches, names, turns)
    alone = _shares(stretches, names, exclusive(turns))
    away = np.stack([_distances(stretches, _regions(turns, name)) for name in names])
    found = []
    # By share, then by what they hold when each instant has one speaker, then by name.
    by_name = np.broadcast_to(np.arange(len(names))[:, None], held.shape)
    order = np.lexsort((by_name, -alone, -held), axis=0)
    for n, nearest in enumerate(np.lexsort((-alone, away), axis=0)[0]):
        heard = [names[k] for k in order[:, n] if held[k, n] > 0]
        found.append(tuple(heard) or (names[nearest],))
    return found


def _shares(
    stretches: Float64[np.ndarray, "n 2"], names: Sequence[str], turns: Sequence[Turn]
) -> Float64[np.ndarray, "k n"]:
    """Seconds that each speaker holds of each stretch."""
    held = [seconds_in(stretches, _regions(turns, name)) for name in names]
    return np.round(held, _DECIMALS)


def _regions(turns: Iterable[Turn], name: str) -> Float64[np.ndarray, "m 2"]:
    """Where a speaker speaks: disjoint, in order of time."""
    own = Timeline(Segment(turn.start, turn.end) for turn in turns if turn.speaker == name)
    return regions_of(own.support())


def _distances(
    stretches: Float64[np.ndarray, "n 2"], regions: Float64[np.ndarray, "m 2"]
) -> Float64[np.ndarray, " n"]:
    """Seconds from each stretch to the nearest region; 0: they meet."""
    if not len(regions):
        return np.full(len(stretches), np.inf)
    after = np.searchsorted(regions[:, 0], stretches[:, 0], side="right")
    last = len(regions) - 1
    before = stretches[:, 0] - regions[np.clip(after - 1, 0, last), 1]
    ahead = regions[np.clip(after, 0, last), 0] - stretches[:, 1]
    before = np.where(after > 0, np.maximum(before, 0), np.inf)
    ahead = np.where(after <= last, np.maximum(ahead, 0), np.inf)
    return np.round(np.minimum(before, ahead), _DECIMALS)
