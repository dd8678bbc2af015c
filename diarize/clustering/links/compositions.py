"""The compositions of the clusters known so far, kept as the clusters move."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from jaxtyping import Float64

from diarize.clustering.composition import Compose, Plan, count_sets, examine
from diarize.clustering.links.graph import LinkGraph, Unit

MOST_COMPOSED = 200
"""Most sets of several speakers that a vector is compared with; only the largest clusters are
composed where they have more."""


class LinkCompositions:
    """Places of all sets of 2 to `max_set_size` clusters; a place is made anew when one moves.

    A cluster is composed once it has `least` vectors. `sets` are those that are compared with.
    """

    def __init__(self, compose: Compose | None, dimension: int, max_set_size: int, least: int):
        self._g = examine(compose, dimension)
        self._max_set_size = max_set_size
        self._least = least
        self._most = 2
        while count_sets(self._most + 1, max_set_size) - self._most - 1 <= MOST_COMPOSED:
            self._most += 1
        self.sets: list[tuple[int, ...]] = []
        self._of: dict[int, int] = {}  # id -> state in which it was composed
        self._places: Float64[np.ndarray, "m p"] = np.zeros((0, dimension))

    def nearest(self, x: Unit, graph: LinkGraph) -> tuple[tuple[int, ...], float]:
        """Ids of the set whose place is most similar, and the similarity; ((), -1) without any."""
        self._refresh(graph)
        if not self.sets:
            return (), -1.0
        similarities = self._places @ x
        best = int(similarities.argmax())
        return self.sets[best], float(similarities[best])

    def _refresh(self, graph: LinkGraph) -> None:
        """Compose the sets that hold a cluster which is new or has moved."""
        known = [cluster for cluster, size in graph.sizes.items() if size >= self._least]
        known = sorted(sorted(known, key=lambda c: (-graph.sizes[c], c))[: self._most])
        now = {cluster: graph.changes[cluster] for cluster in known}
        if now == self._of:
            return
        sets = [
            chosen
            for size in range(2, min(self._max_set_size, len(known)) + 1)
            for chosen in combinations(known, size)
        ]
        before = dict(zip(self.sets, self._places, strict=True))
        places = np.zeros((len(sets), self._places.shape[1]))
        stale = []
        for i, chosen in enumerate(sets):
            if chosen in before and all(self._of.get(c) == now[c] for c in chosen):
                places[i] = before[chosen]
            else:
                stale.append(i)
        if stale:
            column = {cluster: j for j, cluster in enumerate(known)}
            membership = np.zeros((len(stale), len(known)), dtype=bool)
            for row, i in enumerate(stale):
                membership[row, [column[c] for c in sets[i]]] = True
            centroids = np.stack([graph.totals[c] for c in known])
            centroids /= np.linalg.norm(centroids, axis=1, keepdims=True)
            composed = Plan(membership).evaluate(self._g, centroids[None])[0]
            # Similarities are cosines; a composition without a direction is similar to nothing.
            lengths = np.linalg.norm(composed, axis=1, keepdims=True)
            sound = np.isfinite(lengths) & (lengths > 0)
            places[stale] = np.where(sound, composed / np.where(sound, lengths, 1), 0.0)
        self.sets, self._of, self._places = sets, now, places
