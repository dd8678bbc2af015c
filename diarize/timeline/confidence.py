"""How probable it is that a turn's speaker is right.

What the decoding knows is how much better a sequence of sets with the speaker fits than one
without; how often such a speaker is right was counted on conversations with truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from diarize.timeline.decoding import Decoded, heard_alone
from diarize.timeline.paths import posteriors
from diarize.timeline.trellis import TimelineOptions
from diarize.timeline.turns import Turn

if TYPE_CHECKING:
    from diarize.embedding import Knowledge


def confidences(
    found: Decoded, options: TimelineOptions, knowledge: Knowledge
) -> Float64[np.ndarray, " turns"]:
    """Say for each turn with what probability its speaker is heard at an instant drawn from it.

    A speaker who is heard is one whose voice sounds, be it with others; that nobody speaks counts
    against every turn. What a person says is certain.

    Args:
        found: what was decoded; every turn shares time with a cell.
        options: of the decoding.
        knowledge: of the embedding: its sharpness, slope and offset.

    Returns:
        From 0 to 1.
    """
    cells, certain = found.trellis.cells, found.trellis.certain
    probable = speaker_posteriors(found, options, knowledge.sharpness)  # (n, k)
    share = turn_shares(found.turns, cells, probable)
    told = turn_shares(found.turns, cells, certain.astype(np.float64))
    rest = np.clip((share - told) / np.maximum(1 - told, 1e-9), 0.0, 1.0)
    return told + (1 - told) * calibrated(rest, knowledge.slope, knowledge.offset)


def speaker_posteriors(
    found: Decoded, options: TimelineOptions, sharpness: float
) -> Float64[np.ndarray, "n k"]:
    """How probable each speaker is in each cell, as far as the decoding knows."""
    trellis, speakers = found.trellis, found.speakers
    if not len(speakers) or not len(trellis.cells):
        return np.zeros((len(trellis.cells), len(speakers)))
    places = heard_alone(trellis, found.sets, speakers).places(trellis.states)  # (m, p)
    return posteriors(trellis.cells, trellis.costs(places), trellis.states, options, sharpness)


def turn_shares(
    found: Sequence[Turn],
    cells: Float64[np.ndarray, "n 2"],
    probable: Float64[np.ndarray, "n k"],
) -> Float64[np.ndarray, " turns"]:
    """Average a speaker's probability over the cells of each turn, by the time they share."""
    if not found:
        return np.zeros(0)
    begin, end, speaker = (np.array(column) for column in zip(*found, strict=True))
    edges = cells.ravel()  # (2 n,)
    length = cells[:, 1] - cells[:, 0]

    def seconds(of_cells: Float64[np.ndarray, " n"], which: np.ndarray) -> np.ndarray:
        """The integral over the turns, of what is constant in a cell and 0 elsewhere."""
        gained = np.zeros(len(edges))  # from edge to edge
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
    shares: Float64[np.ndarray, " turns"], slope: float, offset: float
) -> Float64[np.ndarray, " turns"]:
    """From what the decoding is sure of to how often it is right: a logistic."""
    return np.asarray(1 / (1 + np.exp(-(slope * shares + offset))))
