"""How near rows are to compositions of rows: the similarity S of affinity propagation."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from jaxtyping import Float, Float32, Int64

from diarize.clustering.checks import Rows
from diarize.clustering.composition import Compose, Plan, examine

VECTORS_AT_ONCE = 2**22
"""Values of vectors handed to g at a time (32 MB in float64)."""


class Similarity:
    """S(i, c) = -|x_i - g(c)|^2 of n rows and sets of rows, scaled to a spread of about 1.

    The rows are scaled by a power of two, and S with them, so that float32 holds it whatever the
    unit of the rows is. Undefined compositions are infinitely far.

    Args:
        rows: different rows.
        weights: how often each occurs; S(i, .) counts so many times.
        compose: g; None will do where all sets are single rows.
        squared, set_penalty: as of `CAP`.

    Attributes:
        scale: S in the units of the rows is S here times this.
    """

    def __init__(
        self,
        rows: Rows,
        weights: Int64[np.ndarray, " n"],
        compose: Compose | None,
        *,
        squared: bool,
        set_penalty: float,
    ) -> None:
        self._g = None if compose is None else examine(compose, rows.shape[1])
        self._rows = rows
        self._weights = weights.astype(np.float32)
        self._mean = rows.mean(axis=0, dtype=np.float64)
        spread = float(np.sqrt(((rows - self._mean) ** 2).sum(axis=1).max(initial=0.0)))
        self._unit = float(2.0 ** np.round(np.log2(spread))) if spread > 0 else 1.0
        self._centered = ((rows - self._mean) / self._unit).astype(rows.dtype)
        self._squares = (self._centered.astype(np.float64) ** 2).sum(axis=1)
        self._squared = squared
        self._penalty = set_penalty / self._unit**2
        self.scale = self._unit**2 if squared else self._unit

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self._rows)

    @property
    def dimension(self) -> int:
        """P."""
        return self._rows.shape[1]

    def vectors(self, members: Int64[np.ndarray, "m size"]) -> Float[np.ndarray, "m p"]:
        """G of sets of rows of one size, centered and scaled like the rows."""
        m, size = members.shape
        if size == 1:
            return self._centered[members[:, 0]]
        plan = Plan(np.ones((1, size), dtype=bool))
        made = np.empty((m, self.dimension), dtype=self._rows.dtype)
        step = max(1, VECTORS_AT_ONCE // (plan.chains * self.dimension))
        for start in range(0, m, step):
            parts = self._rows[members[start : start + step]].astype(np.float64)
            # Of all rows some may be opposites: a g that divides by zero has no answer there.
            with np.errstate(divide="ignore", invalid="ignore"):
                composed = plan.evaluate(self._g, parts)[:, 0]
            made[start : start + step] = (composed - self._mean) / self._unit
        return made

    def of_vectors(
        self, vectors: Float[np.ndarray, "m p"], size: int, rows: slice = slice(None)
    ) -> Float32[np.ndarray, "some m"]:
        """S of some rows and sets of that size whose `vectors` are known."""
        squares = np.einsum("mp,mp->m", vectors, vectors, dtype=np.float64)
        undefined = ~np.isfinite(squares)
        if undefined.any():
            vectors = np.where(undefined[:, None], vectors.dtype.type(0), vectors)
            squares[undefined] = np.inf
        kind = self._rows.dtype
        scores = self._centered[rows] @ (2 * vectors).T  # 2 x.c - |c|^2 - |x|^2
        scores -= (squares + self._penalty * (size - 1)).astype(kind)
        scores -= self._squares[rows, None].astype(kind)
        np.minimum(scores, 0, out=scores)  # a distance below zero is rounding
        if not self._squared:
            scores = -np.sqrt(-scores)
        scores *= self._weights[rows, None]
        return scores.astype(np.float32, copy=False)

    def of_sets(
        self, members: Int64[np.ndarray, "m size"], rows: slice = slice(None)
    ) -> Float32[np.ndarray, "some m"]:
        """S of some rows and sets of rows, all of one size."""
        return self.of_vectors(self.vectors(members), members.shape[1], rows)

    @cached_property
    def singles(self) -> Float32[np.ndarray, "n n"]:
        """S(i, {k}); zero on the diagonal, where the preference has its place."""
        scores = self.of_sets(np.arange(self.n_rows)[:, None])
        np.fill_diagonal(scores, 0)
        return scores
