"""Links as the paper tells it, slowly: every vector is kept, everything is computed anew."""

from __future__ import annotations

from math import sqrt

import numpy as np


class LiteralLinks:
    """Answers one id per vector; no compositions."""

    def __init__(self, T_c: float, T_s: float, T_p: float) -> None:
        self.T_c, self.T_s, self.T_p = T_c, T_s, T_p
        self.vectors: dict[int, list[np.ndarray]] = {}  # of each subcluster, by age
        self.edges: set[frozenset[int]] = set()
        self.ids: dict[int, int] = {}  # of each subcluster
        self.n_subclusters = self.n_ids = 0

    def push(self, x: np.ndarray) -> int:
        nearest = max(self.vectors, key=lambda j: float(x @ self.centroid(j)), default=None)
        if nearest is not None and x @ self.centroid(nearest) >= self.T_s:
            self.vectors[nearest].append(x)
            return self.ids[self.update(nearest)]
        new = self.n_subclusters
        self.n_subclusters += 1
        if nearest is not None and x @ self.centroid(nearest) >= self.bound(
            len(self.vectors[nearest]), 1
        ):
            self.edges.add(frozenset((new, nearest)))
            self.ids[new] = self.ids[nearest]
        else:
            self.ids[new] = self.new_id()
        self.vectors[new] = [x]
        return self.ids[new]

    def update(self, j: int) -> int:
        """Section 3.4; the subcluster in which j ends."""
        while True:
            near = [i for i in self.vectors if i != j and self.similarity(i, j) >= self.T_s]
            near = [i for i in near if {i, j} in self.edges or self.margin(i, j) >= 0]
            if not near:
                break
            j = self.merge(j, max(near, key=lambda i: self.similarity(i, j)))
        neighbours = sorted(
            (i for i in self.vectors if frozenset((i, j)) in self.edges),
            key=lambda i: self.margin(i, j),
        )
        for i in neighbours:
            if self.margin(i, j) < 0:
                self.edges.remove(frozenset((i, j)))
                self.repair(i, j)
        return j

    def merge(self, first: int, second: int) -> int:
        old, young = sorted((first, second))
        if self.ids[old] != self.ids[young]:
            sides = [{i for i in self.ids if self.ids[i] == self.ids[j]} for j in (old, young)]
            large, small = sorted(sides, key=self.weight, reverse=True)
            kept = self.ids[min(large)]
            for i in small:
                self.ids[i] = kept
        self.vectors[old] += self.vectors.pop(young)
        del self.ids[young]
        moved = {frozenset(old if i == young else i for i in edge) for edge in self.edges}
        self.edges = {edge for edge in moved if len(edge) == 2}
        return old

    def repair(self, i: int, j: int) -> None:
        own, severed = self.component(j), self.component(i)
        if own == severed:
            return
        pairs = [(j, b) for b in severed] + [(i, a) for a in own]
        pairs = [pair for pair in pairs if self.margin(*pair) >= 0]
        if pairs:
            self.edges.add(frozenset(max(pairs, key=lambda pair: self.similarity(*pair))))
            return
        new = self.new_id()
        for node in min(own, severed, key=self.weight):
            self.ids[node] = new

    def component(self, j: int) -> set[int]:
        found = {j}
        while True:
            more = {i for edge in self.edges if edge & found for i in edge}
            if more <= found:
                return found
            found |= more

    def weight(self, nodes: set[int]) -> tuple[int, int]:
        return sum(len(self.vectors[i]) for i in nodes), -min(nodes)

    def centroid(self, j: int) -> np.ndarray:
        total = np.sum(self.vectors[j], axis=0)
        return total / sqrt(sum(float(v) ** 2 for v in total))

    def similarity(self, i: int, j: int) -> float:
        return float(self.centroid(i) @ self.centroid(j))

    def margin(self, i: int, j: int) -> float:
        return self.similarity(i, j) - self.bound(len(self.vectors[i]), len(self.vectors[j]))

    def bound(self, k: int, other: int) -> float:
        square = self.T_c**2
        s = 1 / sqrt((1 + (1 / square - 1) / k) * (1 + (1 / square - 1) / other))  # (16)
        return square + (self.T_p - square) / (1 - square) * (s - square)  # (24)

    def new_id(self) -> int:
        self.n_ids += 1
        return self.n_ids - 1
