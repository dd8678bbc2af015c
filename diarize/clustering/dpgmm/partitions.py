"""Partitions: where a chain begins, the mode beside where it ends, one cluster more or fewer.

A chain begins with the best cut of a tree of halves. From a single cluster of many dense ones a
chain can hardly leave: a cut through the middle gains half a nat a row at most where rows look like
one Gaussian, and costs ln 2 (16). What pays is what comes after. So the rows are halved, and the
halves again, as sub-clusters begin; the cut of this tree is taken whose partition has the highest
posterior; and what upper cuts have torn apart is merged. Where a chain begins does not matter to
what it converges to. Random halves are alike, no cut of theirs pays, and the chain begins with one
cluster.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64

from diarize.clustering.dpgmm.moves import log_joint, log_split_ratio, log_terms
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.passes import Passes
from diarize.clustering.dpgmm.starts import Start, means_start
from diarize.clustering.dpgmm.statistics import Features, Statistics
from diarize.clustering.merging import merges

Array = np.ndarray
Rows = Any  # numbers of rows, torch tensor (m,)
Labels = Int64[np.ndarray, " n"]

LEVELS = 6
"""How often rows are halved: 64 clusters to begin with at most."""

ROUNDS = 20
"""Most rounds on the way to the mode; the first ones bring nearly all."""

STARTS = 3
"""Tries of 2-means for each cluster that may be split."""


def first_partition(
    passes: Passes, prior: NIW, alpha: float, start: Start, generator: np.random.Generator
) -> Any:
    """Labels of the best cut, its clusters merged as long as that pays: torch tensor (n,)."""
    import torch

    def cut(members: Rows, levels: int) -> tuple[float, list[Rows]]:
        """The best cut below these rows: its part of the log joint probability, its clusters."""
        sums = passes.sums(torch.zeros_like(members), 1, members)
        whole = float(log_terms(prior, passes.features.statistics(sums), alpha)[0])
        if levels == 0 or len(members) < 2:
            return whole, [members]
        half = start(passes.rows[members], generator)
        if half.all() or not half.any():  # random halves of a few rows may be
            return whole, [members]
        first, left = cut(members[~half], levels - 1)
        second, right = cut(members[half], levels - 1)
        return (first + second, left + right) if first + second > whole else (whole, [members])

    everybody = torch.arange(len(passes), device=passes.rows.device)
    _, clusters = cut(everybody, LEVELS)
    labels = torch.empty_like(everybody)
    for k, members in enumerate(clusters):
        labels[members] = k
    into = joined(passes.features, passes.sums(labels, len(clusters)), prior, alpha)
    return torch.from_numpy(into).to(labels.device)[labels]


def joined(
    features: Features, sums: Float64[Array, "K F"], prior: NIW, alpha: float
) -> Int64[Array, " K"]:
    """Merge clusters, the best pair first, as long as the posterior rises (17).

    Returns:
        The cluster that each becomes part of, numbered from 0.
    """

    def terms(some: Float64[Array, "m F"]) -> Float64[Array, " m"]:
        return log_terms(prior, features.statistics(some), alpha)

    K, sums, own = len(sums), sums.copy(), terms(sums)
    into = np.arange(K)
    losses = np.full((K, K), np.inf)
    for k in range(K - 1):
        losses[k, k + 1 :] = own[k] + own[k + 1 :] - terms(sums[k] + sums[k + 1 :])
        losses[k + 1 :, k] = losses[k, k + 1 :]

    def join(a: int, b: int, others: Int64[Array, " others"]) -> Float64[Array, " others"]:
        sums[a] += sums[b]
        own[a] = terms(sums[[a]])[0]
        return own[a] + own[others] - terms(sums[a] + sums[others])

    for a, b, loss in merges(losses, join):
        if loss >= 0:
            break
        into[into == b] = a
    return np.unique(into, return_inverse=True)[1]


def to_mode(passes: Passes, labels: Any, prior: NIW, alpha: float) -> Any:
    """Labels moved to their likeliest cluster, as long as the posterior of the partition rises.

    Where clusters overlap, drawn labels are scattered as the posterior of each row has it; this
    takes their scatter away. Clusters that lose all rows vanish. Labels, those given and those that
    come, are a torch tensor (n,), from 0, no cluster empty.
    """
    import torch

    best, value = labels, -np.inf
    for _ in range(ROUNDS):
        K = int(labels.max()) + 1
        seen = passes.features.statistics(passes.sums(labels, K))
        now = log_joint(prior, seen, alpha)
        if now <= value:
            break
        best, value = labels, now
        weights = passes.features.weights(prior.posterior(seen).expected())
        weights[:, 0] += np.log(seen.counts)
        labels = torch.unique(passes.likeliest(weights), return_inverse=True)[1]
    return best


def medoid(partitions: Sequence[Labels]) -> int:
    """Which of these partitions of the same rows has the least loss in all against the others.

    The loss is the number of ordered pairs of rows that one puts together and the other apart. Of
    equal ones the first.

    Source: Binder (1978), loss; Dahl (2006), one of the partitions drawn in place of any.
    """
    losses = np.zeros(len(partitions))
    for a, b in combinations(range(len(partitions)), 2):
        one, other = partitions[a], partitions[b]
        both = one * (other.max() + 1) + other
        losses[[a, b]] += _together(one) + _together(other) - 2 * _together(both)
    return int(losses.argmin())


def _together(labels: Labels) -> int:
    """Ordered pairs of rows, a row with itself as well, that are in one cluster."""
    counts = np.unique(labels, return_counts=True)[1]
    return int(counts @ counts)


class Counted:
    """Clusters of rows, labelled from 0 and none empty, whose number is changed by hand."""

    def __init__(
        self,
        rows: Float64[np.ndarray, "n D"],
        labels: Labels,
        prior: NIW,
        alpha: float,
        generator: np.random.Generator,
    ) -> None:
        import torch

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
