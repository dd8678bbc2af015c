"""Who speaks, said with a bounded delay: decoding over the last seconds, again and again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Float32, Float64

from diarize.activity.counter import MOST
from diarize.activity.counts import INSTANT, VoiceCounts
from diarize.clustering.composition import most_speakers
from diarize.clustering.links import LiveCluster
from diarize.sets import Speakers, SpeakerSets
from diarize.streaming.turns import by_sets
from diarize.timeline import TimelineOptions, Trellis
from diarize.timeline.borders import move_borders
from diarize.timeline.paths import best_path
from diarize.timeline.turns import turns

Ids = frozenset[int]

CONTEXT = 2.0  # seconds before what is decided that are remembered
MOST_STATES = 200  # sets that are decoded among: of so many of the first clusters
IMPOSSIBLE = 1e6  # cost of what was decided otherwise; squared distances are at most 4


class LiveDecoder:
    """Decides who speaks, a little at a time; what it has said, it does not change.

    The states are the sets of the live clusters, the costs those of a whole recording. Each
    decision rests on all windows that are there, also those behind it.

    Args:
        nobody: no speakers yet, but where sets of them would lie.
        options: as of a whole recording's timeline.
    """

    def __init__(self, nobody: Speakers, options: TimelineOptions) -> None:
        self._nobody, self._options = nobody, options
        dimension = nobody.centroids.shape[1]
        self._cells = np.zeros((0, 2))
        self._vectors = np.zeros((0, dimension))
        self._counts = np.zeros((0, MOST + 1), np.float32)  # of voices, every 20 ms
        self._first = 0  # instant of the first of these
        self._decided: list[Ids] = []  # of the first cells
        self._ids: tuple[int, ...] = ()
        self._states = SpeakerSets(np.zeros((0, 0), bool))
        self._places = np.zeros((0, dimension))
        self.until = 0.0  # seconds up to which all is decided

    def add(self, cells: Float64[np.ndarray, "n 2"], vectors: Float32[np.ndarray, "n p"]) -> None:
        """Take in the windows that follow those of the last call."""
        self._cells = np.concatenate([self._cells, cells])
        self._vectors = np.concatenate([self._vectors, vectors])

    def hear(self, counts: Float32[np.ndarray, "n 4"]) -> None:
        """Take in how many voices were heard in the instants that follow those of the last call."""
        self._counts = np.concatenate([self._counts, counts])

    def know(self, clusters: list[LiveCluster]) -> None:
        """Decode among these from now on; at least one, the first ones where there are many."""
        chosen = clusters[: most_speakers(len(clusters), self._nobody.largest, MOST_STATES)]
        chosen.sort(key=lambda cluster: cluster.id)
        self._ids = tuple(cluster.id for cluster in chosen)
        centroids = np.stack([cluster.centroid for cluster in chosen])  # (k, p)
        speakers = replace(self._nobody, centroids=centroids)
        self._states = speakers.sets()
        self._places = speakers.places(self._states)  # (m, p)

    def decide(self, until: float) -> list[tuple[float, float, Ids]]:
        """Say who speaks between the last decision and `until`.

        Args:
            until: seconds; all windows of cells that begin before have been added.

        Returns:
            Begin, end and the ids of who speaks, in order; nothing where nobody does.
        """
        begin, self.until = self.until, max(until, self.until)
        if not len(self._cells) or self.until == begin:
            self._forget()
            return []
        voices = VoiceCounts(self._first * INSTANT, self._counts) if len(self._counts) else None
        trellis = Trellis.of(self._cells, self._vectors, self._states, voices, self._options)
        costs = trellis.costs(self._places)  # (n, m)
        sets = self._sets()
        states = {ids: state for state, ids in enumerate(sets)}
        bound = costs.copy()
        for row, ids in enumerate(self._decided):
            state = states.get(ids)  # None: a cluster of it was taken in by another
            if state is not None:
                bound[row] = IMPOSSIBLE
                bound[row, state] = 0.0
        path = best_path(self._cells, bound, self._states, self._options)  # (n,)
        cells = move_borders(trellis, costs, path)
        found = turns(cells, self._states[path], self._options, most=self._nobody.largest)
        spoken = [(b, e, self._ids[speaker]) for b, e, speaker in found]
        n = int(np.searchsorted(self._cells[:, 1], self.until + 1e-9))
        self._decided += [sets[state] for state in path[len(self._decided) : n]]
        self._forget()
        return list(by_sets(spoken, begin, self.until))

    def _sets(self) -> list[Ids]:
        return [
            frozenset(self._ids[i] for i in np.flatnonzero(row)) for row in self._states.membership
        ]

    def _forget(self) -> None:
        old = int(np.searchsorted(self._cells[:, 1], self.until - CONTEXT))
        old = min(old, len(self._decided))
        self._cells, self._vectors = self._cells[old:], self._vectors[old:]
        self._decided = self._decided[old:]
        needed = min([self.until, *self._cells[:1, 0]])
        old = min(max(0, int(needed / INSTANT) - self._first), len(self._counts))
        self._counts, self._first = self._counts[old:], self._first + old
