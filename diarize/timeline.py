"""From the sets of windows to turns: decoding over time, finer boundaries, shortest turns and gaps.

One window's decision is weak, the sequence is not. The states of the decoding are sets of speakers.
Time is cut into cells; each cell has a cost for each state (a squared distance between unit
vectors: 0 to 4), and a change costs as much as staying wrong by one unit for `switch` seconds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float64, Int64
from scipy.special import logsumexp

from diarize.errors import InputError
from diarize.sets import SpeakerSets

if TYPE_CHECKING:
    from pyannote.core import Annotation, Segment, Timeline

Turn = tuple[float, float, int]  # begin and end in seconds, number of the speaker

# A pause of this many seconds halves the cost of changing speakers across it.
FORGETTING = 0.5

SURELY_NORMAL = 1e-250  # a sum of products that is larger has lost nothing to underflow


@dataclass(frozen=True)
class TimelineOptions:
    """How turns are made of windows; times in seconds.

    Attributes:
        switch: how long a set must fit better by one unit of squared distance to be worth a change.
        overlap: squared distance that a set pays for each speaker beyond the first.
        counts: squared distance that a set pays for each nat by which it is improbable that so many
            speak, where that was heard.
        min_turn: a shorter turn is given to its neighbours.
        min_gap: a shorter gap between two turns of one speaker is closed.
    """

    switch: float = 0.1
    overlap: float = 0.05
    counts: float = 0.1
    min_turn: float = 0.2
    min_gap: float = 0.3

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value < math.inf:
                raise InputError(f"{name} is a finite number from 0 on, not {value}")


def decode(
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
    local, change, ease = _prices(cells, costs, states, options)
    # A state that lies further behind the best one than the dearest change leads nowhere: few of
    # the m states are left to come from, mostly.
    dearest = change.max()
    best = local[0]
    came_from = np.empty((n, m), np.int32)
    for i in range(1, n):
        alive = np.flatnonzero(best <= best.min() + ease[i - 1] * dearest)
        total = best[alive, None] + ease[i - 1] * change[alive]
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

    A sequence of sets is as probable as exp(-sharpness * its cost), the cost being what `decode`
    finds the least of: what is likely depends on the cells before and after, too.

    Args:
        cells: consecutive stretches of time, seconds.
        costs: what each state costs in each cell, per second.
        states: the m sets of k speakers, at least one.
        options: of which `switch` and `overlap` are used.
        sharpness: how improbable a cost makes a sequence, from 0 on.
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
    probable /= probable.sum(axis=1, keepdims=True)
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
    gaps = np.maximum(0.0, cells[1:, 0] - cells[:-1, 1])
    return local, options.switch * _changes(states), np.exp2(-gaps / FORGETTING)


def _changes(states: SpeakerSets) -> Float64[np.ndarray, "m m"]:
    """Count the changes from set to set: a speaker who starts while another stops is one."""
    held = states.membership.astype(np.float64)
    shared = held @ held.T
    sizes = held.sum(axis=1)
    return np.maximum(sizes[:, None] - shared, sizes[None, :] - shared)


def cut_cells(
    cells: Float64[np.ndarray, "n 2"],
    costs: Float64[np.ndarray, "n m"],
    path: Int64[np.ndarray, "n"],
    movable: Bool[np.ndarray, "_"] | None = None,
) -> Float64[np.ndarray, "n 2"]:
    """Move the borders between cells of different sets to where the costs of the two cross.

    The cost of a set is known at the middle of each cell; between two middles it is taken as
    linear. `movable` says which borders may move, that after the first cell first; None: all.
    """
    refined = cells.copy()
    touching = cells[1:, 0] - cells[:-1, 1] <= 1e-9
    moves = touching & (path[1:] != path[:-1])
    here = np.flatnonzero(moves if movable is None else moves & movable)
    old, new = path[here], path[here + 1]
    # Positive once the new set fits better: before and after the border.
    before = costs[here, old] - costs[here, new]
    after = costs[here + 1, old] - costs[here + 1, new]
    crosses = (before < 0) & (after > 0)
    here, before, after = here[crosses], before[crosses], after[crosses]
    middles = cells.mean(axis=1)
    share = -before / (after - before)
    border = middles[here] + share * (middles[here + 1] - middles[here])
    refined[here, 1] = border
    refined[here + 1, 0] = border
    return refined


def turns(
    cells: Float64[np.ndarray, "n 2"],
    sets: SpeakerSets,
    options: TimelineOptions,
    least: int = 0,
    settled: Bool[np.ndarray, "n"] | None = None,
    most: int | None = None,
) -> list[Turn]:
    """Join cells into turns.

    Args:
        cells: sorted disjoint stretches of time, seconds.
        sets: who speaks in each.
        options: of which `min_turn` and `min_gap` are used.
        least: so many speakers keep a turn, however short their turns are.
        settled: in which cells everybody keeps a turn; None: in none.
        most: a gap in which so many others speak is not closed; None: any is.

    Returns:
        Begin, end, speaker of each turn, sorted by begin, then speaker. At no instant there are
        more than `most`, or than the cell's set holds.
    """
    membership = _without_crumbs(cells, sets.membership, options.min_turn, least, most)
    if settled is not None:
        membership[settled] = sets.membership[settled]
    closed = _closed_gaps(cells, membership, options.min_gap, most)
    found = []
    for speaker in range(membership.shape[1]):
        rows = np.flatnonzero(membership[:, speaker])
        if not len(rows):
            continue
        spoken = cells[rows]
        apart = (spoken[1:, 0] - spoken[:-1, 1] > 1e-9) & ~closed[rows[:-1], speaker]
        begins = spoken[np.concatenate([[True], apart]), 0]
        ends = spoken[np.concatenate([apart, [True]]), 1]
        found += [(float(b), float(e), speaker) for b, e in zip(begins, ends, strict=True)]
    return sorted(found)


def _closed_gaps(
    cells: Float64[np.ndarray, "n 2"], membership: np.ndarray, longest: float, most: int | None
) -> Bool[np.ndarray, "n k"]:
    """After which cells a speaker's gap is closed: the shortest first, as long as there is room."""
    gaps: list[tuple[float, int, int, int]] = []  # seconds, cells before and after, speaker
    for speaker, held in enumerate(membership.T):
        rows = np.flatnonzero(held)
        seconds = cells[rows[1:], 0] - cells[rows[:-1], 1]
        gaps += [
            (float(seconds[i]), int(rows[i]), int(rows[i + 1]), speaker)
            for i in np.flatnonzero((seconds > 1e-9) & (seconds <= longest))
        ]
    n, k = membership.shape
    room = np.full(2 * n, k if most is None else most)  # in each cell, and in the pause after it
    if most is not None:
        room[::2] -= membership.sum(axis=1)
        room[1:-1:2][cells[1:, 0] - cells[:-1, 1] <= 1e-9] = k  # there is no pause
    closed = np.zeros((n, k), bool)
    for _, before, after, speaker in sorted(gaps):
        inside = room[2 * before + 1 : 2 * after]
        if inside.min() > 0:
            inside -= 1
            closed[before, speaker] = True
    return closed


def _without_crumbs(
    cells: Float64[np.ndarray, "n 2"],
    membership: np.ndarray,
    shortest: float,
    least: int,
    most: int | None,
) -> np.ndarray:
    """Take speakers out of runs shorter than `shortest`; a neighbour gets what nobody holds.

    A neighbour of more than `most` speakers, which only a person asks for, goes on nowhere. A
    speaker who has no other runs keeps the longest, where fewer than `least` would be left.
    """
    kept = membership.copy()
    longest = np.zeros(membership.shape[1])  # seconds
    longest_run: dict[int, np.ndarray] = {}
    n = len(cells)
    touching = np.zeros(n, bool)
    touching[1:] = cells[1:, 0] - cells[:-1, 1] <= 1e-9
    for speaker in range(membership.shape[1]):
        held = membership[:, speaker]
        starts = held & ~(np.concatenate([[False], held[:-1]]) & touching)
        run = np.cumsum(starts) - 1
        rows = np.flatnonzero(held)
        if not len(rows):
            continue
        length = np.bincount(run[rows], (cells[rows, 1] - cells[rows, 0]))
        longest[speaker] = length.max()
        longest_run[speaker] = rows[run[rows] == length.argmax()]
        short = rows[length[run[rows]] < shortest - 1e-9]
        kept[short, speaker] = False
    left_out = np.flatnonzero(membership.any(axis=0) & ~kept.any(axis=0))
    missing = max(0, least - int(kept.any(axis=0).sum()))
    for speaker in left_out[np.argsort(-longest[left_out], kind="stable")][:missing]:
        kept[longest_run[speaker], speaker] = True
    lost = membership.any(axis=1) & ~kept.any(axis=1)
    most = membership.shape[1] if most is None else most

    def gives(row: int) -> bool:
        return 0 < int(kept[row].sum()) <= most

    for row in np.flatnonzero(lost).tolist():  # forwards: the turn before goes on
        if touching[row] and gives(row - 1):
            kept[row] = kept[row - 1]
    for row in np.flatnonzero(lost)[::-1].tolist():  # backwards: the turn after begins sooner
        if not kept[row].any() and row + 1 < n and touching[row + 1] and gives(row + 1):
            kept[row] = kept[row + 1]
    still = membership.any(axis=1) & ~kept.any(axis=1)
    kept[still] = membership[still]  # a region that is all crumbs stays as it was heard
    return kept


def name_turns(found: Sequence[Turn]) -> dict[int, str]:
    """Call speakers SPEAKER_00, SPEAKER_01, ... in order of first appearance."""
    order = dict.fromkeys(speaker for _, _, speaker in found)
    return {speaker: f"SPEAKER_{n:02d}" for n, speaker in enumerate(order)}


def tracks(
    found: Sequence[Turn], names: Mapping[int, str] | None = None
) -> list[tuple[Segment, str]]:
    """Where each turn stands in its annotation: segment and track, which is named as its speaker.

    Args:
        found: turns.
        names: of the speakers; None: those of `name_turns`.
    """
    from pyannote.core import Segment

    names = name_turns(found) if names is None else names
    return [(Segment(begin, end), names[speaker]) for begin, end, speaker in found]


def regions_of(timeline: Timeline) -> Float64[np.ndarray, "m 2"]:
    """Begin and end of each segment, seconds, in order of time; disjoint if they are."""
    return np.array([(s.start, s.end) for s in timeline], np.float64).reshape(-1, 2)


def annotate(found: Sequence[Turn], uri: str, names: Mapping[int, str] | None = None) -> Annotation:
    """Name speakers as `tracks` does."""
    from pyannote.core import Annotation

    annotation = Annotation(uri=uri)
    for segment, name in tracks(found, names):
        annotation[segment, name] = name
    return annotation
