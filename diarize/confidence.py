"""How probable it is that a turn's speaker is right.

What the decoding knows is how much better a sequence of sets with the speaker fits than one
without; how often such a speaker is right was counted on conversations with truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Float64

from diarize.activity.counts import VoiceCounts
from diarize.corrections.binding import Binding
from diarize.refinement import count_costs, speaker_centroids, state_costs, states_of
from diarize.sets import SpeakerSets
from diarize.timeline import TimelineOptions, Turn, posteriors

if TYPE_CHECKING:
    from diarize.embedding import Knowledge


def confidences(
    found: Sequence[Turn],
    vectors: Float[np.ndarray, "n p"],
    cells: Float64[np.ndarray, "n 2"],
    sets: SpeakerSets,
    estimator: Any,
    options: TimelineOptions,
    knowledge: Knowledge,
    binding: Binding | None = None,
    voices: VoiceCounts | None = None,
) -> Float64[np.ndarray, "turns"]:
    """Say for each turn with what probability its speaker is heard at an instant drawn from it.

    A speaker who is heard is one whose voice sounds, be it with others; that nobody speaks counts
    against every turn.

    Args:
        found: begin and end in seconds, and speaker, of each turn.
        vectors: unit vectors of windows.
        cells: the time for which each window speaks, seconds; every turn shares time with one.
        sets: who was decoded in each cell.
        estimator: the fitted clustering.
        options: of the decoding.
        knowledge: of the embedding: its sharpness, slope and offset.
        binding: what a person says of the cells, which is taken for certain; None: nothing.
        voices: how many were heard; None: nobody listened for that.

    Returns:
        From 0 to 1.
    """
    sharpness, slope, offset = knowledge.sharpness, knowledge.slope, knowledge.offset
    probable = speaker_posteriors(
        vectors, cells, sets, estimator, options, sharpness, binding, voices
    )
    share = turn_shares(found, cells, probable)
    if binding is None:
        return calibrated(share, slope, offset)
    told = turn_shares(found, cells, binding.required.astype(np.float64))
    rest = np.clip((share - told) / np.maximum(1 - told, 1e-9), 0.0, 1.0)
    return told + (1 - told) * calibrated(rest, slope, offset)


def speaker_posteriors(
    vectors: Float[np.ndarray, "n p"],
    cells: Float64[np.ndarray, "n 2"],
    sets: SpeakerSets,
    estimator: Any,
    options: TimelineOptions,
    sharpness: float,
    binding: Binding | None = None,
    voices: VoiceCounts | None = None,
) -> Float64[np.ndarray, "n k"]:
    """How probable each speaker is in each cell, as far as the decoding knows."""
    if not estimator.n_speakers_ or not len(cells):
        return np.zeros((len(cells), estimator.n_speakers_))
    states = states_of(estimator, binding)
    rows = vectors.astype(np.float64)
    centroids = speaker_centroids(rows, sets, estimator.centroids_)
    costs = state_costs(rows, centroids, states, estimator, binding)
    costs = costs + count_costs(cells, states, options, voices)
    return posteriors(cells, costs, states, options, sharpness)


def turn_shares(
    found: Sequence[Turn],
    cells: Float64[np.ndarray, "n 2"],
    probable: Float64[np.ndarray, "n k"],
) -> Float64[np.ndarray, "turns"]:
    """Average a speaker's probability over the cells of each turn, by the time they share."""
    if not found:
        return np.zeros(0)
    begin, end, speaker = (np.array(column) for column in zip(*found, strict=True))
    edges = cells.ravel()
    length = cells[:, 1] - cells[:, 0]

    def seconds(of_cells: Float64[np.ndarray, "n"], which: np.ndarray) -> np.ndarray:
        """The integral over the turns, of what is constant in a cell and 0 elsewhere."""
        gained = np.zeros(len(edges))
        gained[1::2] = of_cells * length
        so_far = np.cumsum(gained)
        return np.asarray(
            np.interp(end[which], edges, so_far) - np.interp(begin[which], edges, so_far)
        )

    shares = np.zeros(len(found))
    for one in np.unique(speaker):
        own = np.flatnonzero(speaker == one)
        shares[own] = seconds(probable[:, one], own) / np.maximum(
            seconds(np.ones(len(cells)), own), 1e-9
        )
    return np.clip(shares, 0.0, 1.0)


def calibrated(
    shares: Float64[np.ndarray, "turns"], slope: float, offset: float
) -> Float64[np.ndarray, "turns"]:
    """From what the decoding is sure of to how often it is right: a logistic."""
    return np.asarray(1 / (1 + np.exp(-(slope * shares + offset))))
