"""The paper's g over all singles and pairs at once, with its gradient, shared work done once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float64

Matrices = tuple[Float64[np.ndarray, "p p"], Float64[np.ndarray, "p p"]]

TINY = 1e-12
"""Shorter vectors have no direction, and are left as they are."""


class HadamardPairs:
    """g(a, b) = W1 a + W1 b + W2 (a * b), on the sphere, over fixed sets of one or two speakers.

    What is linear is done for each speaker rather than for each pair, so one evaluation takes m + k
    products with a matrix in place of 2 m, and the way back as many.

    Args:
        matrices: W1 and W2, shape (p, p) each.
        sets: Boolean array of shape (m, k), one or two members in each row.
    """

    def __init__(
        self,
        matrices: Matrices,
        sets: Bool[np.ndarray, "m k"],
    ) -> None:
        self._w1, self._w2 = matrices
        self._n_sets = len(sets)
        single = sets.sum(axis=1) == 1
        self._single_rows = np.flatnonzero(single)
        self._singles = sets[single].argmax(axis=1)
        self._pair_rows = np.flatnonzero(~single)
        pairs = sets[~single]
        self._left = pairs.argmax(axis=1)
        self._right = pairs.shape[1] - 1 - pairs[:, ::-1].argmax(axis=1)
        # Sums over the rows that a speaker is in, as products: (k, rows).
        numbers = np.arange(sets.shape[1])[:, None]
        self._of_left = (numbers == self._left).astype(float)
        self._of_right = (numbers == self._right).astype(float)
        self._of_pair = pairs.T.astype(float)
        self._of_single = sets[single].T.astype(float)

    def __call__(
        self, centroids: Float64[np.ndarray, "r k p"]
    ) -> tuple[
        Float64[np.ndarray, "r m p"],
        Callable[[Float64[np.ndarray, "r m p"]], Float64[np.ndarray, "r k p"]],
    ]:
        """Centroids of all sets, and the function that carries gradients back to the speakers."""
        a, b = centroids[:, self._left], centroids[:, self._right]
        linear = _times(centroids, self._w1.T)
        mixed = _times(a * b, self._w2.T)
        mixed += linear[:, self._left]
        mixed += linear[:, self._right]
        length = np.maximum(np.sqrt(np.einsum("rqp,rqp->rq", mixed, mixed)), TINY)[:, :, None]
        mixed /= length
        composed = np.empty((len(centroids), self._n_sets, centroids.shape[2]))
        composed[:, self._single_rows] = centroids[:, self._singles]
        composed[:, self._pair_rows] = mixed

        def pullback(gradients: np.ndarray) -> np.ndarray:
            onto = gradients[:, self._pair_rows]
            # Back through the sphere: what points along the vector changes its length alone.
            onto -= mixed * np.einsum("rqp,rqp->rq", onto, mixed)[:, :, None]
            onto /= length
            product = _times(onto, self._w2)
            pulled = _times(self._of_pair @ onto, self._w1)
            pulled += self._of_left @ (product * b)
            pulled += self._of_right @ (product * a)
            pulled += self._of_single @ gradients[:, self._single_rows]
            return pulled

        return composed, pullback


def _times(rows: Float64[np.ndarray, "r q p"], matrix: Float64[np.ndarray, "p p"]) -> np.ndarray:
    """Every row times a matrix: one product in place of r."""
    return (rows.reshape(-1, rows.shape[2]) @ matrix).reshape(rows.shape)
