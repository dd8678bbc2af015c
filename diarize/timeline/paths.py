"""The best sequence of sets over time, and how probable each speaker is in it.

One window's decision is weak, the sequence is not. The states of the decoding are sets of speakers.
Time is cut into cells; each cell has a cost for each state (a squared distance between unit
vectors: 0 to 4), and a change costs as much as staying wrong by one unit for `switch` seconds.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64
from scipy.special import logsumexp

from diarize.sets import SpeakerSets
from diarize.timeline.trellis import TimelineOptions

# A pause of this many seconds halves the cost of changing speakers across it.
FORGETTING = 0.5

SURELY_NORMAL = 1e-250  # a sum of products that is larger has lost nothing to underflow


def best_path(
    cells: Float64[np.ndarray, "n 2"],
    costs: Float64[np.ndarray, "n m"],
    states: SpeakerSets,
    options: TimelineOptions,
) -> Int64[np.ndarray, "n"]:
    """Find the sequence of sets with the least cost (Viterbi).

    Args:
        cells: consecutive stretches of time, seconds.
        costs: what each state costs in each cell, per second.
        states: the m sets.
        options: of which `switch` and `overlap` are used.

    Returns:
        The number of each cell's state.
    """
    n, m = costs.shape
    if n == 0 or m == 0:
        return np.zeros(n, np.int64)
    local, change, ease = _prices(cells, costs, states, options)  # (n, m), (m, m), (n - 1,)
    # A state that lies further behind the best one than the dearest change leads nowhere: few of
    # the m states are left to come from, mostly.
    dearest = change.max()
    best = local[0]
    came_from = np.empty((n, m), np.int32)
    for i in range(1, n):
        alive = np.flatnonzero(best <= best.min() + ease[i - 1] * dearest)
        total = best[alive, None] + ease[i - 1] * change[alive]  # (alive, m)
        nearest = total.argmin(axis=0)
        came_from[i] = alive[nearest]
        best = total[nearest, np.arange(m)] + local[i]
    path = np.empty(n, np.int64)
    path[-1] = best.argmin()
    for i in range(n - 1, 0, -1):
        path[i - 1] = came_from[i, path[i]]
    return path


def posteriors(
    cells: Float64[np.ndarray, "n 2"],
    costs: Float64[np.ndarray, "n m"],
    states: SpeakerSets,
    options: TimelineOptions,
    sharpness: float,
) -> Float64[np.ndarray, "n k"]:
    """Say how probable it is that each speaker is heard in each cell (forward-backward).

    A sequence of sets is as probable as exp(-sharpness * its cost), the cost being what `best_path`
    finds the least of: what is likely depends on the cells before and after, too. There is at least
    one state.
    """
    local, change, ease = _prices(cells, costs, states, options)
    fits = -sharpness * (local - local.min(axis=1, keepdims=True))  # -inf: cannot be
    penalty = sharpness * change
    moves = np.exp(-penalty)

    def reached(logs: Float64[np.ndarray, " m"], ease: float) -> Float64[np.ndarray, " m"]:
        """The log of the sum over the states before a change, or after it."""
        top = logs.max()
        summed = np.exp(logs - top) @ (moves if ease == 1 else np.exp(-ease * penalty))
        if summed.min() > SURELY_NORMAL:
            return np.asarray(top + np.log(summed))
        return np.asarray(logsumexp(logs[:, None] - ease * penalty, axis=0))

    logs = fits.copy()  # how well a state fits all up to its cell
    for i in range(1, len(fits)):
        logs[i] += reached(logs[i - 1], ease[i - 1])
        logs[i] -= logs[i].max()
    after = np.zeros(fits.shape[1])  # and all after it
    for i in range(len(fits) - 2, -1, -1):
        after = reached(fits[i + 1] + after, ease[i])
        after -= after.max()
        logs[i] += after
    probable = np.exp(logs - logs.max(axis=1, keepdims=True))
    probable /= probable.sum(axis=1, keepdims=True)  # (n, m), of the states
    return probable @ states.membership.astype(np.float64)


def _prices(
    cells: Float64[np.ndarray, "n 2"],
    costs: Float64[np.ndarray, "n m"],
    states: SpeakerSets,
    options: TimelineOptions,
) -> tuple[Float64[np.ndarray, "n m"], Float64[np.ndarray, "m m"], Float64[np.ndarray, "_"]]:
    """What a state costs in a cell, a change of states, and by what a pause divides the latter."""
    prior = options.overlap * np.maximum(states.sizes - 1, 0)
    local = (costs + prior) * (cells[:, 1] - cells[:, 0])[:, None]
    held = states.membership.astype(np.float64)
    shared, sizes = held @ held.T, held.sum(axis=1)
    # A speaker who starts while another stops is one change.
    changes = np.maximum(sizes[:, None] - shared, sizes[None, :] - shared)
    gaps = np.maximum(0.0, cells[1:, 0] - cells[:-1, 1])
    return local, options.switch * changes, np.exp2(-gaps / FORGETTING)
