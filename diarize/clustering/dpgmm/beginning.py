"""The partition that a chain begins with: the best cut of a tree of halves.

From a single cluster of many dense ones a chain can hardly leave: a cut through the middle gains
half a nat a row at most where rows look like one Gaussian, and costs ln 2 (16). What pays is what
comes after. So the rows are halved, and the halves again, as sub-clusters begin; the cut of this
tree is taken whose partition has the highest posterior; and what upper cuts have torn apart is
merged. Where a chain begins does not matter to what it converges to. Random halves are alike,
no cut of theirs pays, and the chain begins with one cluster.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from diarize.clustering.dpgmm.moves import log_terms
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.passes import Passes
from diarize.clustering.dpgmm.starts import Start
from diarize.clustering.dpgmm.statistics import Features

Array = np.ndarray
Rows = Any  # numbers of rows, torch tensor (m,)

LEVELS = 6
"""How often rows are halved: 64 clusters to begin with at most."""


class Tree:
    """Halves of halves of rows.

    Args:
        passes: over the rows.
        prior: of the clusters.
        alpha: concentration.
        start: how halves begin.
        generator: what draws.
    """

    def __init__(
        self,
        passes: Passes,
        prior: NIW,
        alpha: float,
        start: Start,
        generator: np.random.Generator,
    ) -> None:
        self._passes, self._prior, self._alpha = passes, prior, alpha
        self._start, self._generator = start, generator

    def partition(self) -> Any:
        """Labels of the best cut, its clusters merged as long as that pays: torch tensor (n,)."""
        import torch

        everybody = torch.arange(len(self._passes), device=self._passes.rows.device)
        _, clusters = self._cut(everybody, LEVELS)
        labels = torch.empty_like(everybody)
        for k, members in enumerate(clusters):
            labels[members] = k
        sums = self._passes.sums(labels, len(clusters))
        into = joined(self._passes.features, sums, self._prior, self._alpha)
        return torch.from_numpy(into).to(labels.device)[labels]

    def _cut(self, members: Rows, levels: int) -> tuple[float, list[Rows]]:
        """The best cut below these rows: its part of the log joint probability, its clusters."""
        import torch

        codes = torch.zeros_like(members)
        sums = self._passes.sums(codes, 1, members)
        whole = float(self._terms(sums)[0])
        if levels == 0 or len(members) < 2:
            return whole, [members]
        half = self._start(self._passes.rows[members], self._generator)
        if half.all() or not half.any():  # random halves of a few rows may be
            return whole, [members]
        first, left = self._cut(members[~half], levels - 1)
        second, right = self._cut(members[half], levels - 1)
        return (first + second, left + right) if first + second > whole else (whole, [members])

    def _terms(self, sums: Float64[Array, "K F"]) -> Float64[Array, " K"]:
        return log_terms(self._prior, self._passes.features.statistics(sums), self._alpha)


def joined(
    features: Features, sums: Float64[Array, "K F"], prior: NIW, alpha: float
) -> Int64[Array, " K"]:
    """Merge clusters, the best pair first, as long as the posterior rises (17).

    Args:
        features: of the rows.
        sums: of each cluster.
        prior: of the clusters.
        alpha: concentration.

    Returns:
        The cluster that each becomes part of, numbered from 0.
    """

    def terms(some: Float64[Array, "m F"]) -> Float64[Array, " m"]:
        return log_terms(prior, features.statistics(some), alpha)

    K, sums, own = len(sums), sums.copy(), terms(sums)
    into = np.arange(K)
    gains = np.full((K, K), -np.inf)
    for k in range(K - 1):
        gains[k, k + 1 :] = terms(sums[k] + sums[k + 1 :]) - own[k] - own[k + 1 :]
    while gains.max() > 0:
        a, b = (int(k) for k in np.unravel_index(gains.argmax(), gains.shape))
        into[into == b] = a
        sums[a] += sums[b]
        gains[b], gains[:, b] = -np.inf, -np.inf
        others = np.setdiff1d(into, [a])
        own[a] = terms(sums[[a]])[0]
        gained = terms(sums[a] + sums[others]) - own[a] - own[others]
        gains[np.minimum(a, others), np.maximum(a, others)] = gained
    return np.unique(into, return_inverse=True)[1]
