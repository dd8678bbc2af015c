"""Where a turn's start is decided: borders between cells of different sets, and where they lie."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from diarize.timeline.counts import changes
from diarize.timeline.trellis import Trellis


def move_borders(
    trellis: Trellis, costs: Float64[np.ndarray, "n m"], path: Int64[np.ndarray, " n"]
) -> Float64[np.ndarray, "n 2"]:
    """Move the borders between cells of different sets that touch, and may be moved.

    They go to where the costs of both sets cross; or, where the number of speakers changes, to
    where that is heard: windows are long, and their costs cross somewhere, but how many speak is
    known to 20 ms. Each stays between the middles of its two cells.

    Args:
        trellis: the cells as they were laid.
        costs: of each state at the middle of each cell; between two middles they are linear.
        path: the number of each cell's state.
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
    if trellis.voices is not None and len(here):
        stretches = np.stack([middles[here], middles[here + 1]], axis=1)  # (here, 2)
        border = changes(trellis.voices, stretches, sizes[here], sizes[here + 1])
        moved[here, 1] = moved[here + 1, 0] = border
    return moved
