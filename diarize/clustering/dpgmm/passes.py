"""Passes over the rows: draws of labels, and sums of features, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float64

from diarize.clustering.dpgmm.statistics import Features, blocks

Array = np.ndarray
Tensor = Any

CACHED_VALUES = 2**24
"""Features that are kept from pass to pass at most (128 MB); more are made anew each time."""

PASS_VALUES = 2**17
"""Values of a block (1 MB): scores and features that a processor's cache holds are fast."""

LEAST_SCORE = -80.0
"""Exp of it is of no account beside 1 in float32, and still a normal number."""


class Passes:
    """What is asked of all rows, a torch tensor (n, D) of float64, or of some of them."""

    def __init__(self, rows: Tensor, full: bool) -> None:
        import torch

        self.rows, self.features = rows, Features(rows.shape[1], full)
        self._torch = torch
        few = len(rows) * self.features.size <= CACHED_VALUES
        self._cached = self.features.of(rows) if few else None

    def __len__(self) -> int:
        return len(self.rows)

    def draw(self, weights: Float64[Array, "K F"], luck: Tensor) -> Tensor:
        """Draw a cluster for each row (14): (n,).

        Scores are log probabilities up to a term of the row; `luck` is a torch tensor (n,) of
        float32, uniform in (0, 1].
        """
        labels = self._torch.empty(len(self), dtype=self._torch.int64, device=self.rows.device)
        for block, scores in self._scores(weights):
            scores -= scores.amax(dim=0)
            # Probabilities up to their sum; denormal numbers would take ten times as long.
            below = scores.float().clamp_(min=LEAST_SCORE).exp_()
            below = self._torch.cumsum(below, dim=0, out=below)
            labels[block] = (below < luck[block] * below[-1]).sum(dim=0)
        return labels

    def likeliest(self, weights: Float64[Array, "K F"]) -> Tensor:
        """The cluster of the highest score of each row: (n,)."""
        labels = self._torch.empty(len(self), dtype=self._torch.int64, device=self.rows.device)
        for block, scores in self._scores(weights):
            labels[block] = scores.argmax(dim=0)
        return labels

    def _scores(self, weights: Float64[Array, "K F"]) -> Iterator[tuple[slice, Tensor]]:
        W = self._tensor(weights)
        for block in self._blocks(len(W)):
            yield block, self._torch.mm(W, self._phi(block).T)  # (K, rows of the block)

    def draw_halves(
        self, labels: Tensor, odds: Float64[Array, "K F"], luck: Tensor
    ) -> tuple[Tensor, Float64[Array, "K 2 F"]]:
        """Draw a half for each row (15), and the sums of the features of each half.

        `odds` weigh the log odds of the second half; `luck` is a torch tensor (n,) of float64,
        uniform in [0, 1).
        """
        torch, O = self._torch, self._tensor(odds)  # noqa: E741
        halves = torch.empty(len(self), dtype=torch.bool, device=O.device)
        sums = torch.zeros((2 * len(O), O.shape[1]), dtype=torch.float64, device=O.device)
        for block in self._blocks(O.shape[1]):
            phi, own = self._phi(block), labels[block]
            scores = O[own].mul_(phi).sum(dim=1)
            halves[block] = scores > -torch.logit(luck[block])
            sums.index_add_(0, 2 * own + halves[block], phi)
        return halves, sums.cpu().numpy().reshape(len(O), 2, -1)

    def sums(self, codes: Tensor, K: int, members: Tensor = None) -> Float64[Array, "K F"]:
        """Sums of the features of the rows of each code, 0 to K - 1: a torch tensor (m,).

        `members` are the numbers of these rows, torch tensor (m,); None: all.
        """
        sums = self._torch.zeros(
            (K, self.features.size), dtype=self._torch.float64, device=self.rows.device
        )
        for block in self._blocks(self.features.size, len(codes)):
            which = block if members is None else members[block]
            sums.index_add_(0, codes[block], self._phi(which))
        return sums.cpu().numpy()

    def _phi(self, which: Any) -> Tensor:
        return self.features.of(self.rows[which]) if self._cached is None else self._cached[which]

    def _blocks(self, values: int, n: int | None = None) -> Iterator[slice]:
        return blocks(len(self) if n is None else n, max(values, self.features.size), PASS_VALUES)

    def _tensor(self, values: Array) -> Tensor:
        return self._torch.from_numpy(np.ascontiguousarray(values)).to(self.rows.device)
