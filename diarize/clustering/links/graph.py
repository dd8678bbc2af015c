"""Subclusters, the edges between near ones, and clusters: the connected components (Links, 3.2).

A graph remembers sums of vectors, never a vector: its size depends on the number of subclusters,
and by an integer each on how many of them and of clusters there have ever been.
Subclusters live in slots of growing arrays; a slot keeps its number for as long as its subcluster
lives, and is used again afterwards. To the outside a subcluster is its serial number and a cluster
its id; neither is ever used twice.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from diarize.clustering.links.thresholds import Thresholds

Unit = Float64[np.ndarray, " p"]

FREE = -1
"""Owner of a slot without a subcluster."""

NOTHING = 1e-9
"""Length of a sum of unit vectors that has no direction."""

FIRST_SLOTS = 16
"""Slots to begin with; their number doubles when it does not suffice."""


class LinkGraph:
    """Clusters of unit vectors, one vector after the other.

    Of two clusters that become one, the id of the one with more vectors lives on; the other's is
    answered by it from then on (`current`). Of a cluster that falls apart, the part with more
    vectors keeps the id, the other gets a new one. At a tie the part with the oldest subcluster
    counts as the larger.
    """

    def __init__(self, thresholds: Thresholds, dimension: int) -> None:
        self.thresholds = thresholds
        # Of the subcluster in each slot: the sum of its vectors, alone and brought to the sphere,
        # their number, its cluster's id, its serial number, the slots at other ends of its edges.
        self.sums = np.zeros((FIRST_SLOTS, dimension))
        self.centroids = np.zeros((FIRST_SLOTS, dimension))
        self.counts = np.zeros(FIRST_SLOTS, dtype=np.int64)
        self.owners = np.full(FIRST_SLOTS, FREE, dtype=np.int64)
        self.serials = np.full(FIRST_SLOTS, FREE, dtype=np.int64)
        self.edges: list[set[int]] = [set() for _ in range(FIRST_SLOTS)]
        self.free: list[int] = []  # slots, the next one to be used at the end
        self.used = 0  # slots below this number have been used
        # Of each serial number and each id: the one that took it in, or itself.
        self.merged: list[int] = []
        self.replaced: list[int] = []
        # Of each living id: sum and number of its vectors, and how often the sum has changed.
        self.totals: dict[int, Unit] = {}
        self.sizes: dict[int, int] = {}
        self.changes: dict[int, int] = {}

    @property
    def n_subclusters(self) -> int:
        """Number of living subclusters."""
        return self.used - len(self.free)

    @property
    def slots(self) -> Int64[np.ndarray, " m"]:
        """Slots of the living subclusters."""
        return np.flatnonzero(self.owners[: self.used] != FREE)

    def nearest(self, x: Unit) -> tuple[int, float]:
        """Slot of the most similar subcluster, and the similarity; (FREE, -1) without any."""
        if self.n_subclusters == 0:
            return FREE, -1.0
        similarities = self._similarities(x)
        slot = int(similarities.argmax())  # (19)
        return slot, float(similarities[slot])

    def add(self, slot: int, x: Unit) -> int:
        """Add a vector to a subcluster; the slot that it is in after all consequences."""
        self.sums[slot] += x
        self.counts[slot] += 1
        self._grow(int(self.owners[slot]), x)
        self._place(slot)
        return self._settle(slot)

    def open(self, x: Unit, neighbour: int = FREE) -> int:
        """Open a subcluster, joined to a neighbour's cluster or on its own; its slot."""
        slot = self._take_slot()
        self.sums[slot] = x
        self.counts[slot] = 1
        self.serials[slot] = len(self.merged)
        self.merged.append(len(self.merged))
        self._place(slot)
        if neighbour == FREE:
            self._own([slot], self._new_id())
        else:
            self._connect(slot, neighbour)
            self.owners[slot] = self.owners[neighbour]
            self._grow(int(self.owners[slot]), x)
        return slot

    def absorb_lightest(self, spared: int) -> int:
        """Merge the subcluster of fewest vectors, the oldest of equals, into its nearest.

        Returns:
            The slot where a subcluster that is not looked at is after all consequences.
        """
        serial = int(self.serials[spared])
        slots = self.slots
        slots = slots[slots != spared]
        lightest = int(slots[np.lexsort((self.serials[slots], self.counts[slots]))[0]])
        similarities = self._similarities(self.centroids[lightest])
        similarities[lightest] = -np.inf
        self._settle(self._merge(lightest, int(similarities.argmax())))
        return self.slot_of(serial)

    def current(self, cluster: int) -> int:
        """Id of the living cluster that answers for an id."""
        while self.replaced[cluster] != cluster:
            cluster = self.replaced[cluster]
        return cluster

    def slot_of(self, serial: int) -> int:
        """Slot of the living subcluster that answers for a serial number."""
        while self.merged[serial] != serial:
            serial = self.merged[serial]
        return int(np.flatnonzero(self.serials[: self.used] == serial)[0])

    def _similarities(self, x: Unit) -> Float64[np.ndarray, " used"]:
        similarities = self.centroids[: self.used] @ x
        if self.free:
            similarities[self.free] = -np.inf
        return similarities

    def _settle(self, slot: int) -> int:
        """Section 3.4, after a centroid has moved: merge, then look at the edges."""
        slot = self._merge_near(slot)
        self._check_edges(slot)
        return slot

    def _merge_near(self, slot: int) -> int:
        """Merge with the most similar subcluster as long as that reaches T_s.

        The paper looks at neighbours on an edge. Subclusters between which an edge would hold are
        looked at here as well, whichever cluster they are in: this is how clusters become one. Of
        large ones that is more than T_s, or one between two voices would join all that they say.
        """
        while True:
            similarities = self._similarities(self.centroids[slot])
            similarities[slot] = -np.inf
            if similarities.max() < self.thresholds.subcluster:
                return slot
            near = np.flatnonzero(similarities >= self.thresholds.subcluster)
            linked = np.isin(near, list(self.edges[slot]))
            near = near[linked | (self._margins(slot, near) >= 0)]  # (22)
            if not len(near):
                return slot
            slot = self._merge(slot, int(near[similarities[near].argmax()]))

    def _merge(self, slot: int, other: int) -> int:
        """Replace two subclusters by one with the vectors and edges of both: the older's slot."""
        if self.serials[other] < self.serials[slot]:
            slot, other = other, slot
        if self.owners[slot] != self.owners[other]:
            self._unite(int(self.owners[slot]), int(self.owners[other]))
        self.sums[slot] += self.sums[other]
        self.counts[slot] += self.counts[other]
        for neighbour in sorted(self.edges[other]):
            self._disconnect(other, neighbour)
            if neighbour != slot:
                self._connect(slot, neighbour)
        self.merged[int(self.serials[other])] = int(self.serials[slot])
        self.sums[other] = self.centroids[other] = 0.0
        self.counts[other] = 0
        self.owners[other] = self.serials[other] = FREE
        self.free.append(other)
        self._place(slot)
        return slot

    def _check_edges(self, slot: int) -> None:
        """Drop edges of a subcluster that no longer hold, the weakest first."""
        neighbours = np.array(sorted(self.edges[slot]), dtype=np.int64)
        if len(neighbours) == 0:
            return
        margins = self._margins(slot, neighbours)
        for i in np.argsort(margins, kind="stable"):
            if margins[i] >= 0:  # (22)
                break
            self._disconnect(slot, int(neighbours[i]))
            self._rejoin(slot, int(neighbours[i]))

    def _margins(self, slot: int, others: Int64[np.ndarray, " m"]) -> Float64[np.ndarray, " m"]:
        """By how much the similarities exceed what an edge asks for."""
        bounds = self.thresholds.of_pair(self.counts[slot], self.counts[others])
        return self.centroids[others] @ self.centroids[slot] - bounds

    def _rejoin(self, slot: int, other: int) -> None:
        """Find a new edge in place of one that was dropped, or let the cluster fall apart.

        The edge leads from either end of the dropped one to a subcluster on the other side: of
        those that hold, the most similar pair.
        """
        own, severed = self._reach(slot), self._reach(other)
        if slot in severed:
            return  # there is another way
        best, found = -np.inf, (FREE, FREE)
        for end, side in ((slot, severed), (other, own)):
            partners = np.array(sorted(side), dtype=np.int64)
            similarities = self.centroids[partners] @ self.centroids[end]
            similarities[self._margins(end, partners) < 0] = -np.inf
            i = int(similarities.argmax())
            if similarities[i] > best:
                best, found = float(similarities[i]), (end, int(partners[i]))
        if found[0] != FREE:
            self._connect(*found)
            return
        cluster = int(self.owners[slot])
        lighter, heavier = sorted((own, severed), key=self._weight)
        self._own(sorted(lighter), self._new_id())
        self._own(sorted(heavier), cluster)

    def _weight(self, side: set[int]) -> tuple[int, int]:
        """Vectors of a part of a cluster; at a tie, the older part weighs more."""
        slots = list(side)
        return int(self.counts[slots].sum()), -int(self.serials[slots].min())

    def _reach(self, slot: int) -> set[int]:
        """Slots that edges lead to from here."""
        reached, ahead = {slot}, [slot]
        while ahead:
            new = self.edges[ahead.pop()] - reached
            reached |= new
            ahead += new
        return reached

    def _unite(self, first: int, second: int) -> None:
        """Make two clusters one."""

        def weight(cluster: int) -> tuple[int, int]:
            oldest = self.serials[: self.used][self.owners[: self.used] == cluster].min()
            return self.sizes[cluster], -int(oldest)

        kept, gone = sorted((first, second), key=weight, reverse=True)
        self.owners[: self.used][self.owners[: self.used] == gone] = kept
        self.totals[kept] = self.totals[kept] + self.totals.pop(gone)
        self.sizes[kept] += self.sizes.pop(gone)
        self.changes[kept] += 1
        del self.changes[gone]
        self.replaced[gone] = kept

    def _own(self, slots: list[int], cluster: int) -> None:
        """Make these subclusters a cluster."""
        self.owners[slots] = cluster
        self.totals[cluster] = self.sums[slots].sum(axis=0)
        self.sizes[cluster] = int(self.counts[slots].sum())
        self.changes[cluster] = self.changes.get(cluster, 0) + 1

    def _grow(self, cluster: int, x: Unit) -> None:
        """A vector came to a cluster."""
        self.totals[cluster] = self.totals[cluster] + x
        self.sizes[cluster] += 1
        self.changes[cluster] += 1

    def _new_id(self) -> int:
        self.replaced.append(len(self.replaced))
        return len(self.replaced) - 1

    def _place(self, slot: int) -> None:
        # The length is that of the sum itself: equation 12 gives what it is expected to be where
        # vectors are independent, which those within T_s of each other are not.
        length = np.sqrt(self.sums[slot] @ self.sums[slot])
        if length > NOTHING:  # vectors that cancel each other, merged to make room, have no center
            self.centroids[slot] = self.sums[slot] / length

    def _connect(self, slot: int, other: int) -> None:
        self.edges[slot].add(other)
        self.edges[other].add(slot)

    def _disconnect(self, slot: int, other: int) -> None:
        self.edges[slot].discard(other)
        self.edges[other].discard(slot)

    def _take_slot(self) -> int:
        if self.free:
            return self.free.pop()
        if self.used == len(self.counts):
            more = len(self.counts)
            for name in ("sums", "centroids", "counts", "owners", "serials"):
                values = getattr(self, name)
                empty = np.full_like(values, FREE if name in ("owners", "serials") else 0)
                setattr(self, name, np.concatenate([values, empty]))
            self.edges += [set() for _ in range(more)]
        self.used += 1
        return self.used - 1
