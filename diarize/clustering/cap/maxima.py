"""Maxima over all compositions with and without each row (Li, He, Whitehill, Algorithm 2).

The scores of one row i are S(i, c) for all sets c of two or more other rows. Sets of size 2 make a
symmetric matrix; with sets of 3 and more they are one long list. Either is kept for all rows where
the memory budget allows, and otherwise made again by blocks of rows for each pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, combinations
from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64, Int64

from diarize.clustering.cap.similarity import Similarity

CHUNK = 2**15
"""Sets whose scores are computed in one matrix product."""


class RowMaxima(NamedTuple):
    """What one row's messages ask of its scores T(c) = S(c) + sum of delta(k) over k in c."""

    gains: Float[np.ndarray, " n"]  # max of T over the sets with k, less delta(k): r(k) - delta(k)
    without: Float[np.ndarray, " n"]  # max of T over the sets without k: s(k)
    best: tuple[int, ...]  # the set of the largest T


class Maxima(NamedTuple):
    """The same for all rows."""

    gains: Float64[np.ndarray, "n n"]
    without: Float64[np.ndarray, "n n"]
    used: Bool[np.ndarray, "n n"]  # [i, k]: the largest T of row i is that of a set with k
    values: Float64[np.ndarray, " n"]  # the largest T


class Pairs:
    """Pairs of n rows: a symmetric matrix with nothing on its diagonal."""

    def __init__(self, n: int) -> None:
        self.shape = (n, n)
        self.cells = n * n
        self._totals = np.empty(self.shape, np.float32)

    def chunks(self) -> Iterator[Int64[np.ndarray, "m size"]]:
        """All sets, some at a time, those of a chunk all of one size."""
        n = self.shape[0]
        step = max(1, CHUNK // n)
        for start in range(0, n - 1, step):
            a, b = np.triu_indices(min(step, n - start), start + 1, n)
            yield np.stack([a + start, b], axis=1)

    def place(
        self,
        into: Float32[np.ndarray, " cells"],
        first: int,
        members: Int64[np.ndarray, "m size"],
        scores: Float32[np.ndarray, " m"],
    ) -> None:
        """Write a chunk of one row's scores; its first set is number `first` of all."""
        n = self.shape[0]
        into[members[:, 0] * n + members[:, 1]] = scores
        into[members[:, 1] * n + members[:, 0]] = scores

    def close(self, scores: Float32[np.ndarray, "n n"], row: int) -> None:
        """Rule out the sets with the row itself: whoever is in a set designates itself."""
        np.fill_diagonal(scores, -np.inf)
        scores[row] = scores[:, row] = -np.inf

    def maxima(
        self, scores: Float32[np.ndarray, "n n"], delta: Float32[np.ndarray, " n"]
    ) -> RowMaxima:
        """Algorithm 2 for one row."""
        np.add(scores, delta[:, None], out=self._totals)  # [l, k] = T({l, k}) - delta(k)
        gains = self._totals.max(axis=0)
        with_k = gains + delta
        u = int(with_k.argmax())
        v = int((scores[u] + delta).argmax())
        without = np.full_like(with_k, with_k[u])
        for w in (u, v):  # the others keep the best pair
            elsewhere = np.where(scores[w] + delta[w] < gains, with_k, -np.inf)
            elsewhere[w] = -np.inf
            most = elsewhere.max()
            # Rows that promise more have their maximum with w: what is their next?
            rows = np.flatnonzero(with_k > most)
            rows = rows[rows != w]
            if len(rows):
                rest = scores[rows] + delta
                rest[:, w] = -np.inf
                most = max(most, (rest.max(axis=1) + delta[rows]).max())
            without[w] = most
        return RowMaxima(gains, without, (u, v))


class Sets:
    """Sets of 2 to d of n rows: a list, by size, then in lexicographic order."""

    def __init__(self, n: int, max_set_size: int) -> None:
        self._members = [_all_sets(n, size) for size in range(2, min(max_set_size, n) + 1)]
        starts = np.cumsum([0] + [len(members) for members in self._members])
        self.cells = int(starts[-1])
        self.shape = (self.cells,)
        # The sets with k are holding[bounds[k] : bounds[k + 1]].
        who = np.concatenate([members.reshape(-1) for members in self._members])
        which = np.concatenate(
            [
                np.repeat(np.arange(start, start + len(members)), members.shape[1])
                for start, members in zip(starts, self._members, strict=False)
            ]
        )
        self._holding = which[np.argsort(who, kind="stable")]
        self._bounds = np.concatenate([[0], np.cumsum(np.bincount(who, minlength=n))])
        self._totals = np.empty(self.cells, np.float32)

    def chunks(self) -> Iterator[Int64[np.ndarray, "m size"]]:
        """As for pairs."""
        for members in self._members:
            for start in range(0, len(members), CHUNK):
                yield members[start : start + CHUNK]

    def place(
        self,
        into: Float32[np.ndarray, " cells"],
        first: int,
        members: Int64[np.ndarray, "m size"],
        scores: Float32[np.ndarray, " m"],
    ) -> None:
        """As for pairs."""
        into[first : first + len(members)] = scores

    def close(self, scores: Float32[np.ndarray, " cells"], row: int) -> None:
        """As for pairs."""
        scores[self._with(row)] = -np.inf

    def maxima(
        self, scores: Float32[np.ndarray, " cells"], delta: Float32[np.ndarray, " n"]
    ) -> RowMaxima:
        """As for pairs."""
        totals = self._totals
        start = 0
        for members in self._members:
            part = totals[start : start + len(members)]
            np.take(delta, members[:, 0], out=part)
            for position in range(1, members.shape[1]):
                part += delta[members[:, position]]
            start += len(members)
        totals += scores
        gains = np.maximum.reduceat(totals[self._holding], self._bounds[:-1]) - delta
        best = self._set(int(totals.argmax()))
        without = np.full_like(gains, totals.max())
        for w in best:
            held = self._with(w)
            kept = totals[held]
            totals[held] = -np.inf
            without[w] = totals.max()
            totals[held] = kept
        return RowMaxima(gains, without, best)

    def _with(self, k: int) -> Int64[np.ndarray, " held"]:
        return self._holding[self._bounds[k] : self._bounds[k + 1]]

    def _set(self, number: int) -> tuple[int, ...]:
        for members in self._members:
            if number < len(members):
                return tuple(int(k) for k in members[number])
            number -= len(members)
        raise IndexError(number)


def _all_sets(n: int, size: int) -> Int64[np.ndarray, "m size"]:
    """All sets of that size of n rows, in lexicographic order."""
    flat = chain.from_iterable(combinations(range(n), size))
    return np.fromiter(flat, np.int64, size * comb(n, size)).reshape(-1, size)


class CompositionScores:
    """S of all rows and all sets of 2 to d rows, kept (`stored`) or made on the fly.

    `memory_budget` is in bytes, for scores and vectors of compositions.
    """

    def __init__(self, similarity: Similarity, max_set_size: int, memory_budget: int) -> None:
        n = similarity.n_rows
        self._similarity = similarity
        self._layout: Pairs | Sets = Pairs(n) if max_set_size == 2 else Sets(n, max_set_size)
        per_row = 4 * self._layout.cells
        self.stored = n * per_row <= memory_budget
        self._vectors: list[np.ndarray] | None = None
        rows_at_once = n
        if not self.stored:
            sets = sum(comb(n, size) for size in range(2, max_set_size + 1))
            # Blocks of rows fill the budget; half of it goes to the vectors where they fit.
            if 8 * sets * similarity.dimension <= memory_budget // 2:
                self._vectors = [similarity.vectors(chunk) for chunk in self._layout.chunks()]
                memory_budget -= sum(vectors.nbytes for vectors in self._vectors)
            rows_at_once = min(n, max(1, memory_budget // per_row))
        self._blocks = [
            slice(start, min(start + rows_at_once, n)) for start in range(0, n, rows_at_once)
        ]
        self._scores = np.full((rows_at_once, self._layout.cells), -np.inf, np.float32)
        if self.stored:
            self._fill(self._blocks[0])

    def maxima(self, delta: Float64[np.ndarray, "n n"]) -> Maxima:
        """Algorithm 2 for all rows, where q(i, c) is the sum of delta(i, k) over k in c."""
        n = len(delta)
        narrow = delta.astype(np.float32)
        answer = Maxima(
            np.empty((n, n)), np.empty((n, n)), np.zeros((n, n), dtype=bool), np.empty(n)
        )
        for block in self._blocks:
            if not self.stored:
                self._fill(block)
            for row in range(block.start, block.stop):
                scores = self._scores[row - block.start].reshape(self._layout.shape)
                found = self._layout.maxima(scores, narrow[row])
                answer.gains[row] = found.gains
                answer.without[row] = found.without
                answer.used[row, list(found.best)] = True
                answer.values[row] = found.gains[found.best[0]] + narrow[row, found.best[0]]
        return answer

    def _fill(self, block: slice) -> None:
        """Scores of these rows."""
        first = 0
        for number, members in enumerate(self._layout.chunks()):
            if self._vectors is None:
                made = self._similarity.of_sets(members, block)
            else:
                size = members.shape[1]
                made = self._similarity.of_vectors(self._vectors[number], size, block)
            for into, scores in zip(self._scores, made, strict=False):
                self._layout.place(into, first, members, scores)
            first += len(members)
        for row in range(block.start, block.stop):
            scores = self._scores[row - block.start].reshape(self._layout.shape)
            self._layout.close(scores, row)
