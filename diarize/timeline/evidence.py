"""What is known of every speaker in every cell, as numbers that a network can hear.

A cell is cut into slices, for which the network answers. It sees how far the cell's windows lie
from a speaker and from everybody else, how many voices were heard, and what was decoded.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64, Int64

from diarize.activity.counts import VoiceCounts
from diarize.sets import squared_distances
from diarize.timeline.decoding import Decoded, heard_alone
from diarize.timeline.nearness import FAR, NUMBERS, how_near
from diarize.timeline.trellis import nats_of
from diarize.timeline.turns import turns_at

SLICES = 10  # of a cell, for each of which the network answers
OF_SPEAKER = 8 + 2 * NUMBERS + SLICES  # numbers of one speaker in a cell
OF_CELL = 4 * SLICES + 4  # numbers of a cell
PAUSE = 1.0  # seconds; a longer one is as long


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that is known of k speakers in n cells, each cut into `SLICES` slices.

    Attributes:
        speakers: their numbers, ascending.
        slices: begin and end in seconds.
        of_speakers: how far each lies by the windows that are decoded, and by the longer ones by
            which voices are told, and how near to what else each says; then whether the speaker was
            decoded in each slice.
        of_cells: the surprise at 0, 1, 2, 3 or more voices in each slice, in nats; seconds of the
            cell and of the pauses before and after it; whether somebody is known to speak there.
    """

    speakers: Int64[np.ndarray, " k"]
    slices: Float64[np.ndarray, "slices 2"]
    of_speakers: Float32[np.ndarray, "k n of_speaker"]
    of_cells: Float32[np.ndarray, "n of_cell"]

    @property
    def decoded(self) -> Bool[np.ndarray, "slices k"]:
        """Who was decoded in each slice."""
        held = self.of_speakers[:, :, -SLICES:] > 0
        return np.asarray(held.reshape(len(self.speakers), -1).T)

    @classmethod
    def of(cls, found: Decoded, counts: VoiceCounts) -> Evidence:
        """What is known of the speakers who have turns.

        Args:
            found: decoded by windows of a trellis that has longer ones beside.
            counts: how many were heard.
        """
        trellis = found.trellis
        speakers = np.unique([who for *_, who in found.turns])
        slices = cut(trellis.cells)
        views = trellis.vectors, trellis.of_voices
        held = found.sets.membership[:, speakers] & (found.sets.sizes == 1)[:, None]  # alone
        distances = [how_far(found, vectors, speakers) for vectors in views]  # (k, n, 4) each
        distances += [how_near(vectors, held) for vectors in views]
        everybody = turns_at(found.turns, slices.mean(axis=1), trellis.states.n_speakers)
        decoded = everybody.membership[:, speakers]  # (slices, k)
        n, k = len(trellis.cells), len(speakers)
        each = decoded.reshape(n, SLICES, k).transpose(2, 0, 1)  # (k, n, SLICES)
        of_speakers = np.concatenate([*distances, each], axis=2, dtype=np.float32)
        return cls(
            speakers, slices, of_speakers, _of_cells(trellis.cells, slices, counts, trellis.spoken)
        )


def cut(cells: Float64[np.ndarray, "n 2"]) -> Float64[np.ndarray, "slices 2"]:
    """Cells in slices of one length."""
    shares = np.arange(SLICES + 1) / SLICES
    edges = cells[:, :1] + (cells[:, 1:] - cells[:, :1]) * shares  # (n, SLICES + 1)
    return np.stack([edges[:, :-1], edges[:, 1:]], axis=2).reshape(-1, 2)


def how_far(
    found: Decoded, vectors: Float[np.ndarray, "n p"], speakers: Int64[np.ndarray, " k"]
) -> Float64[np.ndarray, "k n 4"]:
    """How far each speaker lies, by one kind of windows, around which the centroids are taken anew.

    Returns:
        The squared distance from the speaker; by how much that from the nearest other one is
        larger; by how much the nearest set without the speaker is further than the nearest with;
        and by how much the nearest larger set with the speaker is further than the nearest speaker.
    """
    states = found.trellis.states
    others = np.setdiff1d(np.arange(states.n_speakers), speakers)
    among = (states.sizes > 0) & ~states.membership[:, others].any(axis=1)
    states = states[among]
    places = heard_alone(vectors, found.sets, found.speakers).places(states)
    distances = np.minimum(squared_distances(vectors, places), 2 * FAR)  # (n, m)
    alone = states.sizes == 1

    def nearest(states: Bool[np.ndarray, " m"]) -> Float64[np.ndarray, " n"]:
        return distances[:, states].min(axis=1, initial=2 * FAR)

    anybody = nearest(alone)
    seen = []
    for theirs in states.membership[:, speakers].T:
        own, other = nearest(alone & theirs), nearest(alone & ~theirs)
        with_others = nearest(~alone & theirs)
        gain = nearest(~theirs) - np.minimum(own, with_others)
        seen.append(np.stack([own, other - own, gain, with_others - anybody], axis=1))
    return np.clip(seen, -FAR, FAR)


def _of_cells(
    cells: Float64[np.ndarray, "n 2"],
    slices: Float64[np.ndarray, "slices 2"],
    counts: VoiceCounts,
    spoken: bool,
) -> Float32[np.ndarray, "n of_cell"]:
    """What is known of cells, whoever speaks there."""
    nats = counts.mean(nats_of(counts), slices)  # (slices, 4)
    pauses = np.concatenate([[PAUSE], cells[1:, 0] - cells[:-1, 1], [PAUSE]]).clip(0, PAUSE)
    own = np.diff(cells)[:, 0], pauses[:-1], pauses[1:], np.full(len(cells), float(spoken))
    parts = [nats.reshape(len(cells), -1), np.stack(own, axis=1)]
    return np.concatenate(parts, axis=1, dtype=np.float32)
