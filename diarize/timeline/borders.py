"""When one set gives way to another, without a pause: borders between cells that touch."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from diarize.activity.counts import INSTANT, VoiceCounts
from diarize.timeline.trellis import Trellis, nats_of


def move_borders(
    trellis: Trellis, costs: Float64[np.ndarray, "n m"], path: Int64[np.ndarray, " n"]
) -> Float64[np.ndarray, "n 2"]:
    """Move the borders between cells of different sets that touch, and may be moved.

    They go to where the costs of both sets cross; or, where the number of speakers changes, to
    where that is heard: windows are long, and their costs cross somewhere, but how many speak is
    known to 20 ms. Each stays between the middles of its two cells, between which costs are linear.
    `path` is the number of each cell's state.
    """
    cells, middles = trellis.cells, trellis.cells.mean(axis=1)  # (n, 2), (n,)
    moved = cells.copy()
    moves = trellis.movable & (cells[1:, 0] - cells[:-1, 1] <= 1e-9) & (path[1:] != path[:-1])
    here = np.flatnonzero(moves)
    old, new = path[here], path[here + 1]
    # Positive once the new set fits better: before and after the border.
    before = costs[here, old] - costs[here, new]
    after = costs[here + 1, old] - costs[here + 1, new]
    crosses = (before < 0) & (after > 0)
    here, before, after = here[crosses], before[crosses], after[crosses]
    share = -before / (after - before)
    border = middles[here] + share * (middles[here + 1] - middles[here])
    moved[here, 1] = moved[here + 1, 0] = border
    sizes = trellis.states.sizes[path]  # (n,)
    here = np.flatnonzero(moves & (sizes[1:] != sizes[:-1]))
    if trellis.counts is not None and len(here):
        stretches = np.stack([middles[here], middles[here + 1]], axis=1)  # (here, 2)
        border = changes(trellis.counts, stretches, sizes[here], sizes[here + 1])
        moved[here, 1] = moved[here + 1, 0] = border
    return moved


def changes(
    counts: VoiceCounts,
    stretches: Float64[np.ndarray, "m 2"],
    before: Int64[np.ndarray, "m"],
    after: Int64[np.ndarray, "m"],
) -> Float64[np.ndarray, "m"]:
    """Say when, in stretches of seconds, one number of voices likeliest gives way to another."""
    first = np.floor((stretches[:, 0] - counts.start) / INSTANT + 0.5).astype(np.int64)
    length = np.round((stretches[:, 1] - stretches[:, 0]) / INSTANT).astype(np.int64)
    rows = first[:, None] + np.arange(length.max(initial=0))  # (m, longest)
    nats = nats_of(counts)
    own = nats[np.clip(rows, 0, len(nats) - 1)]  # (m, longest, 4)
    most = nats.shape[1] - 1
    each = np.arange(len(own))
    gain = own[each, :, np.minimum(before, most)] - own[each, :, np.minimum(after, most)]
    gain[np.arange(gain.shape[1]) >= length[:, None]] = np.inf  # beyond the stretch
    # What it costs to change at the beginning, after the first instant, and so on.
    cost = np.concatenate([np.zeros((len(own), 1)), np.cumsum(gain, axis=1)], axis=1)
    times = counts.start + (first + cost.argmin(axis=1)) * INSTANT
    return np.clip(times, stretches[:, 0], stretches[:, 1])
