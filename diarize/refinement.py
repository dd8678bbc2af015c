"""Between clustering and timeline: decode over time, take the speakers anew, decode again."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float64

from diarize.activity.counts import VoiceCounts
from diarize.clustering.composition import compose_sets, enumerate_sets
from diarize.clustering.geometry import squared_distances, to_sphere
from diarize.corrections.binding import Binding
from diarize.sets import SpeakerSets
from diarize.timeline import TimelineOptions, cut_cells, decode

ROUNDS = 3  # of centroids and decoding


def refine(
    vectors: Float[np.ndarray, "n p"],
    cells: Float64[np.ndarray, "n 2"],
    estimator: Any,
    options: TimelineOptions,
    *,
    everybody: bool = True,
    binding: Binding | None = None,
    voices: VoiceCounts | None = None,
) -> tuple[Float64[np.ndarray, "n 2"], SpeakerSets]:
    """Turn a clustering into sets over time.

    A state's cost in a cell is the squared distance of the cell's window from the state's centroid.
    The windows may be others than those that were clustered: long ones tell voices apart, short
    ones tell when they change.

    Args:
        vectors: unit vectors of windows.
        cells: the time for which each window speaks, seconds.
        estimator: a fitted clustering with a centroid for each speaker.
        options: of the decoding.
        everybody: whether each speaker of the clustering speaks in these cells; False: they are a
            part of what was clustered, and somebody may be silent there.
        binding: what is known of the cells; None: nothing.
        voices: how many were heard; None: nobody listened for that.

    Returns:
        The cells, with borders between different sets moved to where their costs cross, and the set
        of each.
    """
    if not estimator.n_speakers_ or not len(cells):
        return cells, SpeakerSets(np.zeros((len(cells), 0), bool))
    states = states_of(estimator, binding)
    rows = vectors.astype(np.float64)
    centroids = estimator.centroids_
    prior = count_costs(cells, states, options, voices)
    for i in range(ROUNDS):
        costs = state_costs(rows, centroids, states, estimator, binding) + prior
        path = decode(cells, costs, states, options)
        if everybody:
            path = _keep_everybody(path, costs, states)
        sets = states[path]
        if i + 1 < ROUNDS:
            centroids = speaker_centroids(rows, sets, centroids)
    movable = None if binding is None else binding.alike
    refined = cut_cells(cells, costs, path, movable)
    return cut_by_counts(refined, cells, sets, voices, movable), sets


def states_of(estimator: Any, binding: Binding | None = None) -> SpeakerSets:
    """All sets of the speakers found, up to the estimator's largest, and what must be possible.

    Only the single speakers where it knows no composition.
    """
    states = SpeakerSets(enumerate_sets(estimator.n_speakers_, largest_set(estimator)))
    return states if binding is None else binding.states(states)


def state_costs(
    rows: Float64[np.ndarray, "n p"],
    centroids: Float64[np.ndarray, "k p"],
    states: SpeakerSets,
    estimator: Any,
    binding: Binding | None = None,
) -> Float64[np.ndarray, "n m"]:
    """What each state costs in each cell, per second.

    Args:
        rows: unit vectors of the cells' windows.
        centroids: of the speakers.
        states: those of `states_of`.
        estimator: whose composition is used.
        binding: what is known of the cells; a state that contradicts it is infinitely dear.
    """
    composed = np.zeros((len(states), centroids.shape[1]))  # nobody is where nothing is
    somebody = states.sizes > 0
    composed[somebody] = compose_sets(estimator.compose, centroids, states.membership[somebody])
    costs = squared_distances(rows, composed)
    return costs if binding is None else binding.forbid(costs, states, largest_set(estimator))


def cut_by_counts(
    refined: Float64[np.ndarray, "n 2"],
    cells: Float64[np.ndarray, "n 2"],
    sets: SpeakerSets,
    voices: VoiceCounts | None,
    movable: Bool[np.ndarray, "_"] | None,
) -> Float64[np.ndarray, "n 2"]:
    """Move the borders at which the number of speakers changes to where that is heard to change.

    Windows are long, and their costs cross somewhere; how many speak is known to 20 ms.

    Args:
        refined: the cells, their borders moved by their costs.
        cells: as they were laid; a border stays between the middles of two of them.
        sets: who speaks in each.
        voices: how many were heard; None: nothing is moved.
        movable: which borders may be, that after the first cell first; None: all.
    """
    if voices is None:
        return refined
    touching = cells[1:, 0] - cells[:-1, 1] <= 1e-9
    moves = touching & (sets.sizes[1:] != sets.sizes[:-1])
    here = np.flatnonzero(moves if movable is None else moves & movable)
    if not len(here):
        return refined
    middles = cells.mean(axis=1)
    stretches = np.stack([middles[here], middles[here + 1]], axis=1)
    border = voices.changes(stretches, sets.sizes[here], sets.sizes[here + 1])
    moved = refined.copy()
    moved[here, 1] = border
    moved[here + 1, 0] = border
    return moved


def count_costs(
    cells: Float64[np.ndarray, "n 2"],
    states: SpeakerSets,
    options: TimelineOptions,
    voices: VoiceCounts | None,
) -> Float64[np.ndarray, "n m"] | float:
    """What a state costs in a cell for having so many speakers, by how many were heard there."""
    if voices is None or not len(states):
        return 0.0
    nats = voices.surprise(cells, int(states.sizes.max()))
    return options.counts * nats[:, states.sizes]


def largest_set(estimator: Any) -> int:
    """Size of the largest set that the decoding may find by itself."""
    return int(estimator.max_set_size if estimator.finds_overlap else 1)


def speaker_centroids(
    vectors: Float64[np.ndarray, "n p"],
    sets: SpeakerSets,
    otherwise: Float64[np.ndarray, "k p"],
) -> Float64[np.ndarray, "k p"]:
    """Average the windows that each speaker holds alone, on the sphere.

    Args:
        vectors: unit vectors of the windows.
        sets: whom each window holds.
        otherwise: the centroid of a speaker who is never alone.
    """
    alone = sets.membership & (sets.sizes == 1)[:, None]
    sums = alone.T.astype(np.float64) @ vectors
    known = sums.any(axis=1, keepdims=True)
    return np.where(known, to_sphere(sums), otherwise)


def _keep_everybody(
    path: np.ndarray, costs: Float64[np.ndarray, "n m"], states: SpeakerSets
) -> np.ndarray:
    """Give a speaker whom the decoding left out the cell in which that costs least."""
    absent = np.flatnonzero(~states.membership[path].any(axis=0))
    if len(absent):
        path = path.copy()
        regret = costs - costs[np.arange(len(path)), path][:, None]
        for speaker in absent:  # singletons are the first states
            cell = regret[:, speaker].argmin()
            if np.isfinite(regret[cell, speaker]):
                path[cell] = speaker
            regret[cell] = np.inf  # no other absent speaker takes it
    return path
