"""Who speaks, said with a bounded delay: decoding over the last seconds, again and again."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32, Float64

from diarize.activity.counter import MOST
from diarize.activity.counts import INSTANT, VoiceCounts
from diarize.sets import SpeakerSets
from diarize.streaming.live_speakers import LiveSpeakers
from diarize.streaming.turns import by_sets
from diarize.timeline import TimelineOptions, Trellis
from diarize.timeline.borders import move_borders
from diarize.timeline.paths import best_path
from diarize.timeline.turns import turns

Ids = frozenset[int]

CONTEXT = 2.0  # seconds before what is decided that are remembered
IMPOSSIBLE = 1e6  # cost of what was decided otherwise; squared distances are at most 4


class LiveDecoder:
    """Decides who speaks, a little at a time; what it has said, it does not change.

    The states are the sets of live speakers, the costs those of a whole recording. Each decision
    rests on all windows that are there, also those behind it.
    """

    def __init__(self, dimension: int, largest: int, options: TimelineOptions) -> None:
        self._largest, self._options = largest, options
        self._cells = np.zeros((0, 2))
        self._vectors = np.zeros((0, dimension))
        self._counts = np.zeros((0, MOST + 1), np.float32)  # of voices, every 20 ms
        self._first = 0  # instant of the first of these
        self._decided: list[Ids] = []  # of the first cells
        self._among = LiveSpeakers(
            (), SpeakerSets(np.zeros((0, 0), bool)), np.zeros((0, dimension))
        )
        self.until = 0.0  # seconds up to which all is decided

    def add(self, cells: Float64[np.ndarray, "n 2"], vectors: Float32[np.ndarray, "n p"]) -> None:
        """Take in the windows that follow those of the last call."""
        self._cells = np.concatenate([self._cells, cells])
        self._vectors = np.concatenate([self._vectors, vectors])

    def hear(self, counts: Float32[np.ndarray, "n 4"]) -> None:
        """Take in how many voices were heard in the instants that follow those of the last call."""
        self._counts = np.concatenate([self._counts, counts])

    def know(self, voices: LiveSpeakers) -> None:
        """Decode among these from now on; at least one."""
        self._among = voices

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
        counts = VoiceCounts(self._first * INSTANT, self._counts) if len(self._counts) else None
        among, states = self._among, self._among.states
        trellis = Trellis.of(self._cells, self._vectors, states, counts, self._options)
        costs = trellis.costs(among.places)  # (n, m)
        sets = self._sets()
        numbers = {ids: state for state, ids in enumerate(sets)}
        bound = costs.copy()
        for row, ids in enumerate(self._decided):
            state = numbers.get(ids)  # None: a speaker of it turned out to be another one
            if state is not None:
                bound[row] = IMPOSSIBLE
                bound[row, state] = 0.0
        path = best_path(self._cells, bound, states, self._options)  # (n,)
        cells = move_borders(trellis, costs, path)
        found = turns(cells, states[path], self._options, most=self._largest)
        spoken = [(b, e, among.ids[speaker]) for b, e, speaker in found]
        n = int(np.searchsorted(self._cells[:, 1], self.until + 1e-9))
        self._decided += [sets[state] for state in path[len(self._decided) : n]]
        self._forget()
        return list(by_sets(spoken, begin, self.until))

    def _sets(self) -> list[Ids]:
        return [
            frozenset(self._among.ids[i] for i in np.flatnonzero(row))
            for row in self._among.states.membership
        ]

    def _forget(self) -> None:
        old = int(np.searchsorted(self._cells[:, 1], self.until - CONTEXT))
        old = min(old, len(self._decided))
        self._cells, self._vectors = self._cells[old:], self._vectors[old:]
        self._decided = self._decided[old:]
        needed = min([self.until, *self._cells[:1, 0]])
        old = min(max(0, int(needed / INSTANT) - self._first), len(self._counts))
        self._counts, self._first = self._counts[old:], self._first + old
