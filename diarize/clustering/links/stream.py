"""One vector after the other: which subcluster, or which composition (Links, section 3.3)."""

from __future__ import annotations

from typing import TypeAlias

from diarize.clustering.composition import Compose
from diarize.clustering.links.compositions import LinkCompositions
from diarize.clustering.links.graph import FREE, LinkGraph, Unit
from diarize.clustering.links.thresholds import Thresholds

Place: TypeAlias = int | tuple[int, ...]
"""Where a vector was put: the serial number of a subcluster, or the ids of a composition."""

Answer: TypeAlias = tuple[int, ...]
"""Ids of the clusters that a vector belongs to, ascending."""


class LinkStream:
    """Clusters so far, and what is answered next.

    A vector that is in no subcluster's reach is compared with the compositions of the clusters
    before it opens a subcluster. It belongs to a composition that is nearer than any subcluster and
    as near as a cluster would have to be that had as many vectors as the smallest of the parts.
    It is then answered by a set and leaves no trace: neither a false cluster, nor a centroid that
    is drawn to the other speaker.

    The options are those of `Links`; g is not used where `max_set_size` is 1.
    """

    def __init__(
        self,
        thresholds: Thresholds,
        dimension: int,
        *,
        compose: Compose | None,
        max_set_size: int,
        min_size: int,
        max_subclusters: int,
    ) -> None:
        self.graph = LinkGraph(thresholds, dimension)
        self.compositions = None
        if max_set_size > 1:
            self.compositions = LinkCompositions(compose, dimension, max_set_size, min_size)
        self.max_subclusters = max_subclusters

    def push(self, x: Unit) -> Place:
        """Take a unit vector in; where it was put."""
        graph, thresholds = self.graph, self.graph.thresholds
        slot, similarity = graph.nearest(x)
        if slot != FREE and similarity >= thresholds.subcluster:  # (20)
            return int(graph.serials[graph.add(slot, x)])
        if self.compositions is not None:
            together, similarity_of_set = self.compositions.nearest(x, graph)
            if similarity_of_set > similarity:
                smallest = min(graph.sizes[cluster] for cluster in together)
                if similarity_of_set >= thresholds.of_vector(smallest):
                    return together
        near = slot != FREE and similarity >= thresholds.of_vector(graph.counts[slot])  # (21)
        slot = graph.open(x, slot if near else FREE)
        if graph.n_subclusters > self.max_subclusters:
            slot = graph.absorb_lightest(spared=slot)
        return int(graph.serials[slot])

    def answer(self, place: Place) -> Answer:
        """Ids of the clusters at a place, as things are now."""
        if isinstance(place, tuple):
            return tuple(sorted({self.graph.current(cluster) for cluster in place}))
        return (int(self.graph.owners[self.graph.slot_of(place)]),)
