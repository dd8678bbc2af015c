"""Centroids of many sets at once, and the gradient through g to the speakers' centroids."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

import numpy as np
from jaxtyping import Bool, Float64

from diarize.clustering.composition import Compose, Examined, Matrices, Plan, examine

Pullback = Callable[[Float64[np.ndarray, "r m p"]], Float64[np.ndarray, "r k p"]]
"""From the gradient with respect to the sets' centroids to that of the speakers' centroids."""

BLOCK_VALUES = 2**22
"""Values that one call of g returns at most while finite differences are taken (32 MB)."""

TINY = 1e-12
"""Shorter vectors have no direction, and are left as they are."""


class SetComposer:
    """g over fixed sets of speakers, batched over restarts, and its gradient.

    `compose` may be None where every set has one speaker.

    Raises:
        ValueError: a set is empty, or g cannot be applied to vectors of this dimension.
    """

    def __init__(
        self, compose: Compose | None, sets: Bool[np.ndarray, "m k"], dimension: int
    ) -> None:
        several = bool((sets.sum(axis=1) > 1).any())
        self._g = examine(compose, dimension) if several else None
        self._over(sets)

    def _over(self, sets: Bool[np.ndarray, "m k"]) -> None:
        self.sets = sets
        self._plan = Plan(sets)
        matrices = None if self._g is None else self._g.matrices
        pairs_at_most = sets.sum(axis=1).max(initial=0) <= 2
        self._pairs = HadamardPairs(matrices, sets) if matrices and pairs_at_most else None

    def __call__(self, centroids: Float64[np.ndarray, "r k p"]) -> Float64[np.ndarray, "r m p"]:
        """Centroids of all sets."""
        if self._pairs is not None:
            return self._pairs(centroids)[0]
        return self._plan.evaluate(self._g, centroids)

    @property
    def chains(self) -> int:
        """How many vectors one evaluation makes per restart."""
        return self._plan.chains

    def only(self, chosen: Bool[np.ndarray, " m"]) -> SetComposer:
        """The same g over some of the sets."""
        part = copy(self)
        part._over(self.sets[chosen])
        return part

    def with_pullback(
        self, centroids: Float64[np.ndarray, "r k p"]
    ) -> tuple[Float64[np.ndarray, "r m p"], Pullback]:
        """Centroids of all sets, and the function that carries gradients back to the speakers."""
        if self._g is None:
            return self(centroids), self._pull_singles
        if self._pairs is not None:
            return self._pairs(centroids)
        if self._g.torch is not None:
            return self._with_autograd(self._g, centroids)
        composed = self(centroids)
        return composed, self._differences(self._g, centroids, composed)

    def _pull_singles(self, gradients: np.ndarray) -> np.ndarray:
        """The way back through the sets of one speaker."""
        pulled = np.zeros((len(gradients), self.sets.shape[1], gradients.shape[2]))
        for row, speaker in zip(self._plan.single_rows, self._plan.singles, strict=True):
            pulled[:, speaker] += gradients[:, row]
        return pulled

    def _with_autograd(self, g: Examined, centroids: np.ndarray) -> tuple[np.ndarray, Pullback]:
        torch = g.torch
        leaf = torch.from_numpy(centroids).to(g.dtype).detach().requires_grad_()
        with torch.enable_grad():
            composed = self._plan(torch, g.function, leaf)

        def pullback(gradients: np.ndarray) -> np.ndarray:
            several = gradients.copy()
            several[:, self._plan.single_rows] = 0  # singles are added in float64
            # Through a sum, since handing gradients to autograd makes it import sympy (a second).
            with torch.enable_grad():
                weighted = (composed * torch.from_numpy(several).to(g.dtype)).sum()
            (pulled,) = torch.autograd.grad(weighted, leaf)
            return self._pull_singles(gradients) + pulled.numpy()

        return self._plan.exact(composed, centroids), pullback

    def _differences(self, g: Examined, centroids: np.ndarray, composed: np.ndarray) -> Pullback:
        """Forward differences over the k p centroid values.

        Where g works value by value (`np.maximum`), moving all values of a centroid at once tells
        as much as moving one after the other: k evaluations instead of k p.
        """
        _, k, p = centroids.shape
        step = g.step * max(1.0, float(np.abs(centroids).max(initial=0)))
        moves = np.ones((1, p)) if g.by_value else np.eye(p)

        def pullback(gradients: np.ndarray) -> np.ndarray:
            pulled = self._pull_singles(gradients)
            for speaker in range(k):
                rows = np.flatnonzero(self.sets[:, speaker] & (self.sets.sum(axis=1) > 1))
                if len(rows) == 0:
                    continue
                plan = Plan(self.sets[rows])
                block = max(1, BLOCK_VALUES // (len(moves) * len(rows) * p))
                for start in range(0, len(centroids), block):
                    part = slice(start, start + block)
                    moved = np.repeat(centroids[part, None], len(moves), axis=1)
                    moved[:, :, speaker] += step * moves
                    new = plan(np, g.function, moved.reshape(-1, k, p))
                    change = new.reshape(-1, len(moves), len(rows), p) - composed[part, None, rows]
                    slopes = change / step * gradients[part, None, rows]
                    if g.by_value:
                        pulled[part, speaker] += slopes[:, 0].sum(axis=1)
                    else:
                        pulled[part, speaker] += slopes.sum(axis=(2, 3))
            return pulled

        return pullback


class HadamardPairs:
    """g(a, b) = W1 a + W1 b + W2 (a * b), on the sphere, over fixed sets of one or two speakers.

    What is linear is done for each speaker rather than for each pair, so one evaluation takes m + k
    products with a matrix in place of 2 m, and the way back as many.
    """

    def __init__(self, matrices: Matrices, sets: Bool[np.ndarray, "m k"]) -> None:
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
    ) -> tuple[Float64[np.ndarray, "r m p"], Pullback]:
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
