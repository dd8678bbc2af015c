"""What is decoded: cells of time, the sets that each can hold, and what these cost there."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

import numpy as np
from jaxtyping import Bool, Float, Float64

from diarize.activity.counts import VoiceCounts
from diarize.errors import InputError
from diarize.sets import SpeakerSets, squared_distances

LEAST = 1e-4  # probability below which nothing is told apart


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

    switch: float = 0.06
    overlap: float = 0.025
    counts: float = 0.3
    min_turn: float = 0.2
    min_gap: float = 0.3

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            number = isinstance(value, Real) and not isinstance(value, bool)
            if not number or not 0 <= value < math.inf:
                raise InputError(f"{name} is a finite number from 0 on, not {value!r}")


@dataclass(frozen=True, eq=False)
class Trellis:
    """n cells of time and m states: sets of k speakers of which each cell holds one.

    `of` lays one of which nothing is known but what was heard; what a person says of a recording
    is brought into its arrays before anything is decoded.

    Attributes:
        cells: sorted disjoint stretches of time, seconds.
        vectors: of the window that speaks for each, unit length.
        states: the sets.
        prior: what a state costs in a cell beside its distance; infinite: it cannot be.
        counts: how many were heard; None: nobody listened for that.
        options: of the decoding.
        movable: whether the border after each cell but the last is only where cells were laid, so
            that it may be moved.
        settled: in which cells a speaker keeps a turn, however short it is.
        certain: whose voices are known to be in a cell, without a doubt.
        novelty: one by how often what a cell holds is said; nan where nobody knows; None: nothing
            is said again.
        voices: vectors of longer windows, by which voices are told; None: of the same.
        spoken: whether it is known that somebody speaks in all of the cells.
    """

    cells: Float64[np.ndarray, "n 2"]
    vectors: Float[np.ndarray, "n p"]
    states: SpeakerSets
    prior: Float64[np.ndarray, "n m"]
    counts: VoiceCounts | None
    options: TimelineOptions
    movable: Bool[np.ndarray, " borders"]
    settled: Bool[np.ndarray, " n"]
    certain: Bool[np.ndarray, "n k"]
    novelty: Float64[np.ndarray, " n"] | None = None
    voices: Float[np.ndarray, "n p"] | None = None
    spoken: bool = False

    @classmethod
    def of(
        cls,
        cells: Float64[np.ndarray, "n 2"],
        vectors: Float[np.ndarray, "n p"],
        states: SpeakerSets,
        counts: VoiceCounts | None,
        options: TimelineOptions,
        novelty: Float64[np.ndarray, " n"] | None = None,
    ) -> Trellis:
        """Lay one; a state costs the more, the less probable it is that so many were heard."""
        n = len(cells)
        prior = np.zeros((n, len(states)))
        if counts is not None and len(states):
            nats = surprise(counts, cells, int(states.sizes.max()))  # (n, sizes)
            prior = options.counts * nats[:, states.sizes]  # (n, m)
        certain = np.zeros((n, states.n_speakers), bool)
        movable = np.ones(max(n - 1, 0), bool)
        settled = np.zeros(n, bool)
        heard = prior, counts, options
        return cls(cells, vectors, states, *heard, movable, settled, certain, novelty)

    @property
    def of_voices(self) -> Float[np.ndarray, "n p"]:
        """The vectors by which voices are told."""
        return self.vectors if self.voices is None else self.voices

    def costs(self, places: Float64[np.ndarray, "m p"]) -> Float64[np.ndarray, "n m"]:
        """What each state costs in each cell, per second, if the states lie at these places."""
        return squared_distances(self.vectors, places) + self.prior


def nats_of(counts: VoiceCounts) -> Float64[np.ndarray, "n sizes"]:
    """-log P of each number of voices at each instant."""
    return -np.log(np.maximum(counts.probabilities.astype(np.float64), LEAST))


def surprise(
    counts: VoiceCounts, cells: Float64[np.ndarray, "cells 2"], largest: int
) -> Float64[np.ndarray, "cells sizes"]:
    """Say how improbable each number of voices is, on average over a cell.

    Returns:
        -log P in nats, for 0 to `largest` voices; from three on, all are alike.
    """
    nats = nats_of(counts)
    sizes = np.minimum(np.arange(largest + 1), nats.shape[1] - 1)
    return counts.mean(nats, cells)[:, sizes]
