"""Rows to their nearest centers, with the counts and sums that squared distances need."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64, Int32, Int64

BLOCK_SCORES = 2**23
"""Values held at a time, scores (rows x restarts x centers) or rows: 64 MB in float64."""

ROUNDING = 32
"""By how many rounding errors a center must be nearer before a row moves to it."""


class Nearest:
    """Which of m centers each of n rows belongs to, in r restarts at once.

    With labels fixed, the sum of squared distances depends on the rows through each center's
    count and sum alone. These are kept in float64, relative to the mean of the rows, and follow
    the rows that move; the rows themselves are multiplied in their own precision, by blocks.
    """

    labels: Int32[np.ndarray, "r n"]  # center of each row; -1 before the first `update`
    counts: Float64[np.ndarray, "r m"]  # rows of each center
    sums: Float64[np.ndarray, "r m p"]  # of these rows minus the mean of all

    def __init__(self, rows: Float[np.ndarray, "n p"], n_restarts: int, n_centers: int) -> None:
        n, p = rows.shape
        self._rows = rows
        self._mean = rows.mean(axis=0, dtype=np.float64)
        self._squares = np.empty(n)  # |x - mean|^2
        for block in _blocks(n, BLOCK_SCORES // p):
            self._squares[block] = ((rows[block] - self._mean) ** 2).sum(axis=1)
        self.labels = np.full((n_restarts, n), -1, dtype=np.int32)
        self.counts = np.zeros((n_restarts, n_centers))
        self.sums = np.zeros((n_restarts, n_centers, p))

    def update(
        self,
        centers: Float64[np.ndarray, "live m p"],
        offsets: Float64[np.ndarray, " m"],
        restarts: Int64[np.ndarray, " live"] | None = None,
    ) -> Int64[np.ndarray, " live"]:
        """Move rows to the center of least |x - c|^2 + offset; number of moved rows per restart.

        A row stays where it is unless it gains more than what rounding may pretend. Ties go to
        the center that comes first.
        """
        if restarts is None:
            restarts = np.arange(len(self.labels))
        live, m, p = centers.shape
        centered, squares = self._centered(centers)
        kind = self._rows.dtype
        rounding = ROUNDING * float(np.finfo(kind).eps)
        # |x - c|^2 is rounded by its largest parts; a center without a place is left at any gain.
        reach = rounding * np.where(squares < np.inf, squares, 0.0)
        each = np.arange(live)
        # |x - c|^2 - |x|^2 = |c|^2 - 2 x.c
        slopes = np.ascontiguousarray((-2 * centered).reshape(-1, p).T, dtype=kind)
        bias = (squares + offsets).reshape(-1).astype(kind)
        moved_rows = np.zeros(live, dtype=np.int64)
        for block in _blocks(len(self._rows), BLOCK_SCORES // max(live * m, p)):
            x = self._rows[block] - self._mean
            scores = x.astype(kind, copy=False) @ slopes
            scores += bias
            scores = scores.reshape(-1, live, m)
            new = scores.argmin(axis=2)
            old = self.labels[restarts, block].T.astype(np.int64)
            gain = _pick(scores, np.maximum(old, 0)) - _pick(scores, new)
            tolerance = reach[each, np.maximum(old, 0)] + reach[each, new]
            tolerance += rounding * self._squares[block, None]
            row, restart = np.nonzero((old < 0) | (gain > tolerance))
            if len(row) == 0:
                continue
            moved_rows += np.bincount(restart, minlength=live)
            source, target = old[row, restart], new[row, restart]
            self._move(x, row, restarts[restart], source, target)
            self.labels[restarts[restart], row + block.start] = target
        return moved_rows

    def relabel(self, restart: int, row: int, center: int) -> None:
        """Give one row to a center by hand."""
        x = (self._rows[row] - self._mean)[None]
        source, target = self.labels[restart, row], center
        zero = np.zeros(1, dtype=np.int64)
        self._move(x, zero, zero + restart, zero + source, zero + target)
        self.labels[restart, row] = center

    def _move(
        self,
        x: np.ndarray,
        row: np.ndarray,
        restart: np.ndarray,
        source: np.ndarray,
        target: np.ndarray,
    ) -> None:
        """Rows of x leave the centers of `source`, in these restarts, for those of `target`."""
        from scipy.sparse import coo_array

        r, m, p = self.sums.shape
        left = source >= 0
        place = np.concatenate([restart * m + target, (restart * m + source)[left]])
        sign = np.concatenate([np.ones(len(row)), -np.ones(int(left.sum()))])
        which = np.concatenate([row, row[left]])
        self.counts += np.bincount(place, weights=sign, minlength=r * m).reshape(r, m)
        touched, place = np.unique(place, return_inverse=True)
        moves = coo_array((sign, (place, which)), shape=(len(touched), len(x))).tocsr()
        self.sums.reshape(-1, p)[touched] += moves @ x

    def objective(
        self,
        centers: Float64[np.ndarray, "live m p"],
        offsets: Float64[np.ndarray, " m"],
        restarts: Int64[np.ndarray, " live"],
    ) -> Float64[np.ndarray, " live"]:
        """Sum over rows of |x - c|^2 + offset at the present labels."""
        centered, squares = self._centered(centers)
        counts = self.counts[restarts]
        weighted = np.multiply(
            counts, squares + offsets, where=counts > 0, out=np.zeros_like(counts)
        )
        crossed = np.einsum("rmp,rmp->r", centered, self.sums[restarts])
        return np.maximum(self._squares.sum() + weighted.sum(axis=1) - 2 * crossed, 0)

    def slope(
        self, centers: Float64[np.ndarray, "live m p"], restarts: Int64[np.ndarray, " live"]
    ) -> Float64[np.ndarray, "live m p"]:
        """Gradient of the objective with respect to the centers."""
        counts = self.counts[restarts][:, :, None]
        return 2 * (counts * self._centered(centers)[0] - self.sums[restarts])

    def _centered(self, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Centers relative to the mean of the rows, and their squared norms.

        A composition may be undefined (that of opposite vectors, say): no row is near to it.
        """
        centered = centers - self._mean
        squares = (centered**2).sum(axis=2)
        undefined = ~np.isfinite(squares)
        centered[undefined], squares[undefined] = 0.0, np.inf
        return centered, squares

    def distances(self, centers: Float64[np.ndarray, "m p"], restart: int) -> np.ndarray:
        """Squared distance of each row (n,) from its center in one restart."""
        labels = self.labels[restart]
        return np.concatenate(
            [
                ((self._rows[block] - centers[labels[block]]) ** 2).sum(axis=1)
                for block in _blocks(len(labels), BLOCK_SCORES // centers.shape[1])
            ]
        )

    def keep(self, restarts: Int64[np.ndarray, " kept"]) -> None:
        """Forget the other restarts."""
        self.labels = self.labels[restarts]
        self.counts = self.counts[restarts]
        self.sums = self.sums[restarts]


def _pick(
    scores: Float[np.ndarray, "b r m"], labels: Int64[np.ndarray, "b r"]
) -> Float[np.ndarray, "b r"]:
    return np.take_along_axis(scores, labels[:, :, None], axis=2)[:, :, 0]


def nearest_centers(
    rows: Float[np.ndarray, "n p"],
    centers: Float64[np.ndarray, "m p"],
    offsets: Float64[np.ndarray, " m"] | float = 0.0,
) -> Int64[np.ndarray, " n"]:
    """The center of least |x - c|^2 + offset of each row."""
    everyone = Nearest(rows, 1, len(centers))
    everyone.update(centers[None], np.broadcast_to(offsets, len(centers)))
    return everyone.labels[0].astype(np.int64)


def _blocks(n: int, size: int) -> list[slice]:
    size = max(1, size)
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]
