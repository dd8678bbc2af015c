"""Message passing of compositional affinity propagation (Li, He, Whitehill, Algorithm 1).

The messages a, abar, b, bbar of the paper carry additive constants that grow with every iteration
until floating point drowns in them. Only differences matter, and damping is linear, so these are
passed, in the paper's letters:

    Delta(i, k) = a(i, k) - abar(i, k)     what row i gains if k is an exemplar and i uses it
    R(i, k)     = b(i, k) - bbar(i, k)     how much row i wants k in its set
    H(k)        = h(k) - bbar(k, k)        how much k wants to be an exemplar by itself

    q(i, c)     = sum of Delta(i, k) over k in c, up to a constant of i
    R(i, k)     = max(0, r(k) - s(k) - Delta(i, k)),  r, s: maxima of S + q with and without k
    H(k)        = S(k, {k}) - s_k(k)
    Delta(k, k) = sum of R(i', k) over i' != k
    Delta(i, k) = min(0, H(k) + sum of R(i', k) over i' not in {i, k})
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64

from diarize.clustering.cap.maxima import CompositionScores


@dataclass(frozen=True)
class Decision:
    """What the messages say."""

    exemplars: Int64[np.ndarray, " k"]  # rows that choose themselves
    feasible: bool  # every row that some row has in its set chooses itself
    n_iter: int
    converged: bool  # the exemplars have stayed the same for long enough


class Messages:
    """The messages between n rows, at least 2, and the decisions they lead to.

    `singles` are S(i, {k}), any diagonal, `preferences` S(k, {k}).
    """

    delta: Float64[np.ndarray, "n n"]  # Delta, zero at the start
    wishes: Float64[np.ndarray, "n n"]  # R
    merits: Float64[np.ndarray, " n"]  # H
    choosing_self: Bool[np.ndarray, " n"]  # which rows are their own best set
    used: Bool[np.ndarray, "n n"]  # [i, k]: row i has k in its best set

    def __init__(
        self,
        singles: Float[np.ndarray, "n n"],
        compositions: CompositionScores | None,
        preferences: Float64[np.ndarray, " n"],
        damping: float,
    ) -> None:
        n = len(singles)
        self._singles = singles.astype(np.float64)
        np.fill_diagonal(self._singles, preferences)
        self._compositions = compositions
        self._preferences = preferences
        self._damping = damping
        self.delta = np.zeros((n, n))
        self.wishes = np.zeros((n, n))
        self.merits = np.zeros(n)
        self._find_maxima()

    def iterate(self) -> None:
        """All messages once."""
        kept, new = self._damping, 1 - self._damping
        self.wishes = kept * self.wishes + new * np.maximum(self._gains - self._without, 0)
        self.merits = kept * self.merits + new * (self._preferences - self._without.diagonal())
        others = self.wishes.sum(axis=0) - self.wishes.diagonal()  # over i' != k
        delta = np.minimum(self.merits + others - self.wishes, 0)
        np.fill_diagonal(delta, others)
        self.delta = kept * self.delta + new * delta
        self._find_maxima()

    def _find_maxima(self) -> None:
        """r(k) - Delta(i, k), s(k) and the best set of each row: Algorithm 2, and single rows."""
        totals = self._singles + self.delta
        rows = np.arange(len(totals))
        best = totals.argmax(axis=1)
        values = totals[rows, best]
        totals[rows, best] = -np.inf
        self._gains = self._singles
        self._without = np.repeat(values[:, None], len(rows), axis=1)
        self._without[rows, best] = totals.max(axis=1)
        self.used = np.zeros(totals.shape, dtype=bool)
        self.used[rows, best] = True
        if self._compositions is not None:
            larger = self._compositions.maxima(self.delta)
            self._gains = np.maximum(self._gains, larger.gains)
            self._without = np.maximum(self._without, larger.without)
            composed = larger.values > values
            self.used[composed] = larger.used[composed]
        self.choosing_self = self.used.diagonal().copy()


def pass_messages(messages: Messages, max_iter: int, window: int) -> Decision:
    """Iterate until the exemplars, at least one, have not changed for `window` iterations."""
    n_iter = unchanged = 0
    while n_iter < max_iter and unchanged < window:
        before = messages.choosing_self
        messages.iterate()
        n_iter += 1
        same = bool((before == messages.choosing_self).all()) and bool(before.any())
        unchanged = unchanged + 1 if same else 0
    feasible = not (messages.used.any(axis=0) & ~messages.choosing_self).any()
    return Decision(np.flatnonzero(messages.choosing_self), feasible, n_iter, unchanged == window)
