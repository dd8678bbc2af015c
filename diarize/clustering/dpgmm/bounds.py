"""One cluster more, or one fewer, whichever the Hastings ratio likes best."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float64, Int64

from diarize.clustering.dpgmm.moves import log_split_ratio
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.starts import means_start
from diarize.clustering.dpgmm.statistics import Features, Statistics

STARTS = 3
"""Tries of 2-means for each cluster that may be split."""

Labels = Int64[np.ndarray, " n"]


class Counted:
    """Clusters of rows whose number is changed by hand.

    Args:
        rows: (n, D).
        labels: clusters of these, from 0, none empty.
        prior: of the clusters.
        alpha: concentration.
        generator: what draws.
    """

    def __init__(
        self,
        rows: Float64[np.ndarray, "n D"],
        labels: Labels,
        prior: NIW,
        alpha: float,
        generator: np.random.Generator,
    ) -> None:
        self.labels, self._prior, self._alpha = labels, prior, alpha
        self._generator = generator
        self._rows = torch.from_numpy(np.ascontiguousarray(rows))
        self._features = Features(rows.shape[1], prior.full)

    def _statistics(self, members: list[np.ndarray]) -> Statistics:
        sums = [self._features.of(self._rows[m]).sum(dim=0).numpy() for m in members]
        return self._features.statistics(np.stack(sums))

    def merge(self) -> None:
        """Merge the two clusters whose merge (17) is the most probable."""
        K = int(self.labels.max()) + 1
        seen = self._statistics([np.flatnonzero(self.labels == k) for k in range(K)])
        i, j = np.triu_indices(K, 1)
        ratios = log_split_ratio(self._prior, seen[i], seen[j], self._alpha)
        best = int(ratios.argmin())
        one, other = i[best], j[best]
        self.labels = np.where(self.labels == other, one, self.labels - (self.labels > other))

    def split(self) -> None:
        """Split the cluster whose split by 2-means (16) is the most probable."""
        K = int(self.labels.max()) + 1
        best, chosen = -np.inf, None
        for k in range(K):
            members = np.flatnonzero(self.labels == k)
            for _ in range(STARTS if len(members) > 1 else 0):
                half = means_start(self._rows[members], self._generator).numpy()
                if half.all() or not half.any():
                    half = np.arange(len(members)) == 0  # two rows, drawn to one side
                parts = self._statistics([members[~half], members[half]])
                ratio = float(log_split_ratio(self._prior, parts[0], parts[1], self._alpha))
                if chosen is None or ratio > best:
                    best, chosen = ratio, members[half]
        assert chosen is not None, "there are as many clusters as rows"
        self.labels = self.labels.copy()
        self.labels[chosen] = K
