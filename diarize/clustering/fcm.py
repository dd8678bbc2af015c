"""Fuzzy c-means (Bezdek, Ehrlich, Full 1984)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Float64

from diarize.clustering.checks import Rows
from diarize.clustering.gradient import SetComposer
from diarize.clustering.memberships import Mixture, SoftClusterer
from diarize.clustering.seeding import spread_rows
from diarize.sets import enumerate_sets

FINALISTS = 2
"""Restarts that are followed until they settle; the others are given up on the way."""

BLOCK_VALUES = 2**21
"""Memberships or rows worked on at a time (16 MB)."""


@dataclass(kw_only=True, eq=False, repr=False)
class FCM(SoftClusterer):
    """Fuzzy c-means: a row holds the speakers to whom its membership is above a threshold.

    Memberships say how near the centers are, so that a row between two speakers is taken for
    both; the composition function is not used.

    Args:
        fuzzifier: m > 1: near 1 memberships are nearly hard, large ones make them all alike. The
            more dimensions, the smaller it must be (2, the usual one, is for few).
        threshold: membership above which a row holds a speaker; None: 1 / c.
        n_restarts: restarts from different first centers; the one of least objective wins.
        tol: an iteration that lowers the objective by less than this share of it is the last.
        sample_size: rows fitted at most; None: all. Memberships are those of all rows.

    Attributes:
        objective_: sum of u^m |x - v|^2 over the fitted rows.
        n_iter_: iterations of the best restart.
    """

    fuzzifier: float = 1.2
    threshold: float | None = None
    n_restarts: int = 10
    count_penalty: float = 1.0
    max_iter: int = 300
    tol: float = 1e-6
    sample_size: int | None = 20_000

    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "fuzzifier": (1.2, 1.02, 1.05, 1.1, 1.15, 1.3, 1.5, 2.0),
        "count_penalty": (1.0, 0.5, 0.7, 1.4, 2.0),
    }

    def _check_options(self) -> None:
        super()._check_options()
        if self.fuzzifier <= 1:
            raise ValueError(f"fuzzifier must be above 1, got {self.fuzzifier!r}")

    def _mix(self, rows: Rows, k: int, generator: np.random.Generator) -> Mixture:
        alone = SetComposer(None, enumerate_sets(k, 1), rows.shape[1])
        first = spread_rows(rows, alone, np.zeros(k), self.n_restarts, generator)
        run = FuzzyMeans(rows, first, self.fuzzifier)
        for iteration in range(self.max_iter):
            run.iterate(self.tol)
            if iteration > 0:
                run.keep_best(max(FINALISTS, len(run.centers) // 2))
            if run.converged.all():
                break
        run.keep_best(1)
        self.objective_ = float(run.objective[0])
        centers = run.centers[0]
        return Mixture(
            lambda some: memberships(some, centers, self.fuzzifier),
            centers,
            int(run.iterations[0]),
            bool(run.converged[0]),
        )


class FuzzyMeans:
    """The iteration of fuzzy c-means, for r restarts in step."""

    def __init__(
        self, rows: Float[np.ndarray, "n p"], centers: Float64[np.ndarray, "r c p"], m: float
    ) -> None:
        self.centers = centers  # v
        self.objective = np.full(len(centers), np.inf)  # before the last iteration; never rises
        self.converged = np.zeros(len(centers), dtype=bool)
        self.iterations = np.zeros(len(centers), dtype=np.int64)
        self._rows = rows
        self._mean = rows.mean(axis=0, dtype=np.float64)
        self._m = m

    def iterate(self, tol: float) -> None:
        """Memberships of all rows, then the centers that suit them, where not yet converged."""
        live = np.flatnonzero(~self.converged)
        r, c, p = self.centers[live].shape
        shifted = self.centers[live] - self._mean
        weights, sums, objective = np.zeros((r, c)), np.zeros((r * c, p)), np.zeros(r)
        size = max(1, BLOCK_VALUES // max(r * c, p))
        for start in range(0, len(self._rows), size):
            x = (self._rows[start : start + size] - self._mean).astype(self._rows.dtype, copy=False)
            distances = _squared_distances(x, shifted)
            powered = np.exp(self._m * _log_memberships(distances, self._m))  # u^m
            weights += powered.sum(axis=2)
            sums += powered.reshape(r * c, -1) @ x
            objective += np.einsum("rcn,rcn->r", powered, distances, dtype=np.float64)
        held = weights > 0
        means = sums.reshape(r, c, p) / np.where(held, weights, 1)[:, :, None]
        self.centers[live] = np.where(held[:, :, None], means, shifted) + self._mean
        self.converged[live] = self.objective[live] - objective <= tol * objective
        self.objective[live] = objective
        self.iterations[live] += 1

    def keep_best(self, n_restarts: int) -> None:
        """Go on with the restarts of least objective, in their old order."""
        best = np.sort(np.argsort(self.objective, kind="stable")[:n_restarts])
        self.centers, self.objective = self.centers[best], self.objective[best]
        self.converged, self.iterations = self.converged[best], self.iterations[best]


def memberships(
    rows: Float[np.ndarray, "n p"], centers: Float64[np.ndarray, "c p"], m: float
) -> Float64[np.ndarray, "n c"]:
    """u: to what degree each row belongs to each center; each row sums to one."""
    degrees = np.empty((len(rows), len(centers)))
    mean = centers.mean(axis=0)
    size = max(1, BLOCK_VALUES // max(centers.shape))
    for start in range(0, len(rows), size):
        x = (rows[start : start + size] - mean).astype(rows.dtype, copy=False)
        distances = _squared_distances(x, (centers - mean)[None])
        degrees[start : start + size] = np.exp(_log_memberships(distances, m)[0]).T
    return degrees


def _squared_distances(x: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Shape (r, c, n), in the precision of the rows; above zero."""
    r, c, p = centers.shape
    squares = (-2 * centers).reshape(r * c, p).astype(x.dtype) @ x.T
    squares += (centers**2).reshape(r * c, p).sum(axis=1, keepdims=True).astype(x.dtype)
    squares += np.einsum("np,np->n", x, x)
    # What rounding leaves of a row that is its own center; it must have a logarithm.
    least = np.finfo(x.dtype).eps * max(float(squares.max(initial=0)), np.finfo(x.dtype).tiny)
    return np.maximum(squares, least, out=squares).reshape(r, c, -1)


def _log_memberships(distances: np.ndarray, m: float) -> np.ndarray:
    """Logarithm of u: -log(d^2) / (m - 1), less the logarithm of the sum over the centers."""
    logs = np.log(distances)
    logs *= -1 / (m - 1)
    logs -= logs.max(axis=1, keepdims=True)
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
    return logs
