"""Sets of exemplars: the exact assignment to one, its cost, and moves that make it better.

Given the exemplars E, compositional affinity propagation's best assignment is exact: each exemplar
designates itself, each other row the best composition inside E.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float32, Int64

from diarize.clustering.cap.similarity import Similarity
from diarize.sets import enumerate_sets

Exemplars = tuple[int, ...]
"""Rows, ascending."""

MOST_EXCHANGED = 40
"""Exchanges are tried up to this number of exemplars; their cost grows with its square."""

GAIN = 1e-6
"""Share of the cost that a move must gain: less may be rounding."""

SETS_AT_ONCE = 2**13
"""Compositions that rows are compared with at a time."""


class Assignment(NamedTuple):
    """The exact assignment of all rows to compositions of exemplars."""

    sets: Bool[np.ndarray, "m k"]  # those in use
    ids: Int64[np.ndarray, " n"]  # the set of each row
    cost: float  # minus the sum of S(i, c_i) over the rows that are no exemplars


class ExemplarSearch:
    """Adds, removes and exchanges exemplars, by S and for sets of up to `max_set_size`.

    Rows that are no `candidates` do not become exemplars.
    """

    def __init__(
        self, similarity: Similarity, max_set_size: int, candidates: Bool[np.ndarray, " n"]
    ) -> None:
        self._similarity = similarity
        self._max_set_size = max_set_size
        self._candidates = candidates
        self._known: dict[Exemplars, Float32[np.ndarray, "n n"]] = {}

    def cost(self, exemplars: Exemplars) -> float:
        """Minus the sum of the best S(i, c) of the rows that are no exemplars."""
        return -float(self._best(exemplars).sum(dtype=np.float64))

    def add(self, exemplars: Exemplars, gone: int | None = None) -> tuple[float, Exemplars]:
        """The row that lowers the cost most as a further exemplar; cost and exemplars then.

        One that has just gone does not come back.
        """
        best = self._best(exemplars)[:, None]
        new = np.repeat(best, self._similarity.n_rows, axis=1)
        for others in self._sets(exemplars):
            np.maximum(new, self._extended(others), out=new)
        new[list(exemplars)] = 0
        np.fill_diagonal(new, 0)
        totals = -new.sum(axis=0, dtype=np.float64)  # cost with each row as a further exemplar
        totals[list(exemplars)] = np.inf
        totals[~self._candidates] = np.inf
        if gone is not None:
            totals[gone] = np.inf
        chosen = int(totals.argmin())
        return float(totals[chosen]), tuple(sorted((*exemplars, chosen)))

    def remove(self, exemplars: Exemplars) -> tuple[float, Exemplars]:
        """The exemplar, of at least two, that raises the cost least when it goes."""
        scores, holds = self._inside(exemplars)
        rows = np.arange(len(scores))
        best = scores.argmax(axis=1)
        value = scores[rows, best].astype(np.float64)
        value[list(exemplars)] = 0
        total = value.sum()
        ways = []
        for place, gone in enumerate(exemplars):
            # Without it only those look for another set whose best holds it, and it itself.
            moved = holds[best, place]
            moved[list(exemplars)] = False
            moved[gone] = True
            instead = scores[np.ix_(moved, ~holds[:, place])].max(axis=1)
            ways.append((value[moved].sum() - total - instead.sum(dtype=np.float64), gone))
        cost, gone = min(ways)
        return float(cost), _less(exemplars, gone)

    def exchange(self, exemplars: Exemplars) -> tuple[float, Exemplars]:
        """The best replacement of one exemplar by another row."""
        return min(self.add(_less(exemplars, gone), gone) for gone in exemplars)

    def polish(self, exemplars: Exemplars, preference: float, low: int, high: int) -> Exemplars:
        """The best move as long as one helps, between `low` and `high` exemplars.

        Exchanges, which are dear, are looked at when nothing else helps. What is maximised is the
        sum over all rows of S(i, c_i), exemplars counting `preference`.
        """
        while not exemplars or len(exemplars) < low:
            exemplars = self.add(exemplars)[1]
        while len(exemplars) > high:
            exemplars = self.remove(exemplars)[1]
        now = self.cost(exemplars) - preference * len(exemplars)
        while True:
            moves = []
            if len(exemplars) < high:
                moves.append(self.add(exemplars))
            if len(exemplars) > low:
                moves.append(self.remove(exemplars))
            value, after = _best_move(moves, preference)
            worth = now - GAIN * abs(now)
            few = len(exemplars) <= min(MOST_EXCHANGED, self._similarity.n_rows - 1)
            if not value < worth and few:
                value, after = _best_move([self.exchange(exemplars)], preference)
            if not value < worth:
                return exemplars
            now, exemplars = value, after

    def assign(self, exemplars: Exemplars) -> Assignment:
        """Every row to its best composition of exemplars; of equals to the smaller, the first."""
        n, k = self._similarity.n_rows, len(exemplars)
        others = np.setdiff1d(np.arange(n), exemplars)
        best = np.full(len(others), -np.inf)
        choice = np.zeros(len(others), dtype=np.int64)
        rows = np.array(exemplars, dtype=np.int64)
        sets = enumerate_sets(k, self._max_set_size if len(others) else 1)
        sizes = sets.sum(axis=1)
        for size in np.unique(sizes):
            numbers = np.flatnonzero(sizes == size)
            for start in range(0, len(numbers), SETS_AT_ONCE):
                some = numbers[start : start + SETS_AT_ONCE]
                members = rows[np.nonzero(sets[some])[1]].reshape(-1, size)
                scores = self._similarity.of_sets(members)[others]
                nearest = scores.argmax(axis=1)
                value = scores[np.arange(len(others)), nearest]
                better = value > best
                best[better] = value[better]
                choice[better] = some[nearest[better]]
        ids = np.empty(n, dtype=np.int64)
        ids[rows] = np.arange(k)  # single exemplars come first
        ids[others] = choice
        used, ids = np.unique(ids, return_inverse=True)
        return Assignment(sets[used], ids.astype(np.int64), -float(best.sum()))

    def _inside(
        self, exemplars: Exemplars
    ) -> tuple[Float32[np.ndarray, "n m"], Bool[np.ndarray, "m k"]]:
        """S of all rows and all m sets of the exemplars, and whom each set holds."""
        place = {exemplar: number for number, exemplar in enumerate(exemplars)}
        columns, members = [], []
        for others in self._sets(exemplars):
            last = [k for k in exemplars if not others or k > others[-1]]  # each set once
            columns.append(self._extended(others)[:, last])
            members += [(*others, k) for k in last]
        holds = np.zeros((len(members), len(exemplars)), dtype=bool)
        for number, chosen in enumerate(members):
            holds[number, [place[k] for k in chosen]] = True
        return np.concatenate(columns, axis=1), holds

    def _best(self, exemplars: Exemplars) -> Float32[np.ndarray, " n"]:
        """Best S(i, c) inside the exemplars; 0 for exemplars themselves."""
        best = np.full(self._similarity.n_rows, -np.inf, np.float32)
        for others in self._sets(exemplars):
            inside = self._extended(others)[:, list(exemplars)]
            np.maximum(best, inside.max(axis=1, initial=-np.inf), out=best)
        best[list(exemplars)] = 0
        return best

    def _sets(self, exemplars: Exemplars) -> list[Exemplars]:
        """All sets that leave room for one more member, the empty one included."""
        largest = min(self._max_set_size - 1, len(exemplars))
        return [s for size in range(largest + 1) for s in combinations(exemplars, size)]

    def _extended(self, others: Exemplars) -> Float32[np.ndarray, "n n"]:
        """[i, k]: S of row i and the set of `others` and k."""
        if others not in self._known:
            n = self._similarity.n_rows
            new = np.setdiff1d(np.arange(n), others)
            members = np.empty((len(new), len(others) + 1), dtype=np.int64)
            members[:, :-1], members[:, -1] = others, new
            scores = np.full((n, n), -np.inf, np.float32)
            scores[:, new] = self._similarity.of_sets(members)
            self._known[others] = scores
        return self._known[others]


def _best_move(moves: list[tuple[float, Exemplars]], preference: float) -> tuple[float, Exemplars]:
    """Value, the less the better, and exemplars of the best move; infinite where there is none."""
    return min(
        ((cost - preference * len(exemplars), exemplars) for cost, exemplars in moves),
        default=(np.inf, ()),
    )


def _less(exemplars: Exemplars, gone: int) -> Exemplars:
    return tuple(k for k in exemplars if k != gone)
