"""The sub-cluster sampler: restricted Gibbs, splits, merges (Algorithm 1 of the appendix).

The state is a label for each row and, inside each cluster, one of two halves; and the sums of the
rows' features in each half. Parameters are drawn anew in every sweep and then forgotten.

What is exact. `sweep` and `exchange` leave the posterior of the partition as it is. `split` and
`merge` find clusters fast, and do not: the deterministic merge that would undo a split by (16) has
next to no probability, and is never proposed; and the random split that the full merge ratio weighs
is next to never accepted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Int64

from diarize.clustering.dpgmm.moves import (
    log_joint,
    log_random_halves,
    log_split_ratio,
    split_ratio_of_gain,
)
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.partitions import first_partition
from diarize.clustering.dpgmm.passes import Passes
from diarize.clustering.dpgmm.starts import PATIENCE, Start
from diarize.clustering.dpgmm.statistics import Statistics, blocks

Array = np.ndarray


class Sampler:
    """A Markov chain over partitions of rows.

    Args:
        rows: torch tensor (n, D) of float64, n at least 1; best with columns of unit variance.
        alpha: concentration of the Dirichlet process.
        start: how halves of new clusters begin.
        patience: sweeps after which the halves of a new cluster begin anew, if nobody split by
            them.

    Attributes:
        labels: cluster of each row, torch tensor (n,).
        halves: whether it is in the second half of its cluster, torch tensor (n,).
    """

    def __init__(
        self,
        rows: Any,
        prior: NIW,
        alpha: float,
        start: Start,
        generator: np.random.Generator,
        patience: int = PATIENCE,
    ) -> None:
        import torch

        self.passes = Passes(rows, prior.full)
        self.features = self.passes.features
        self.prior, self.alpha, self.start = prior, alpha, start
        self.generator, self.patience, self._torch = generator, patience, torch
        self._noise = torch.Generator(rows.device)
        self._noise.manual_seed(int(generator.integers(2**62)))
        self.labels = torch.zeros(len(rows), dtype=torch.int64, device=rows.device)
        self.halves = torch.zeros(len(rows), dtype=torch.bool, device=rows.device)
        self._sums = np.zeros((1, 2, self.features.size))
        self._ages = np.zeros(1, np.int64)
        self._waits = np.full(1, patience)
        self._begin(np.zeros(1, np.int64))

    @property
    def n_clusters(self) -> int:
        """K."""
        return len(self._sums)

    @property
    def clusters(self) -> Statistics:
        """Statistics of each cluster."""
        return self.features.statistics(self._sums.sum(axis=1))

    def log_joint(self) -> float:
        """Ln p(z, x): the log posterior of the partition, up to a constant."""
        return log_joint(self.prior, self.clusters, self.alpha)

    def begin(self) -> None:
        """Begin with the best cut of a tree of halves, instead of with one cluster."""
        self.labels = first_partition(
            self.passes, self.prior, self.alpha, self.start, self.generator
        )
        K = int(self.labels.max()) + 1
        self._resize(np.zeros(K, np.int64))
        self._begin(np.arange(K))

    # The restricted Gibbs sampler.

    def sweep(self) -> None:
        """Draw weights and parameters (10 to 13), then labels (14) and halves (15)."""
        K, draw = self.n_clusters, self.generator
        weights = self.features.weights(self.prior.posterior(self.clusters).draw(draw))
        # Gammas are a Dirichlet draw up to their sum, which all scores share.
        weights[:, 0] += np.log(draw.standard_gamma(self._sums[:, :, 0].sum(axis=1)))
        inner = self.features.statistics(self._sums.reshape(2 * K, -1))
        inside = self.features.weights(self.prior.posterior(inner).draw(draw))
        shares = draw.standard_gamma(inner.counts + self.alpha / 2)
        inside[:, 0] += np.log(np.maximum(shares, np.finfo(np.float64).tiny))
        odds = inside.reshape(K, 2, -1)
        n, device = len(self.labels), self.labels.device
        luck = self._torch.rand(n, generator=self._noise, device=device)
        labels = self.passes.draw(weights, 1 - luck)
        self._keep_alive(labels)
        luck = self._torch.rand(n, generator=self._noise, device=device, dtype=self._torch.float64)
        self.halves, self._sums = self.passes.draw_halves(labels, odds[:, 1] - odds[:, 0], luck)
        self.labels = labels
        self._ages += 1

    def _keep_alive(self, labels: Any) -> None:
        """Undo what would empty a cluster: this sampler is restricted to K clusters.

        As if rows were drawn one after the other, the last row of a cluster not being free: of a
        cluster that all rows leave, the last one stays, unless another came before it.
        """
        torch = self._torch
        stayed = torch.bincount(labels[labels == self.labels], minlength=self.n_clusters)
        emptied = torch.nonzero(stayed == 0)[:, 0].tolist()
        lasts = sorted((int(torch.nonzero(self.labels == k)[-1, 0]), k) for k in emptied)
        for last, k in lasts:
            if not bool((labels[:last] == k).any()):
                labels[last] = k

    # Splits and merges.

    def split(self) -> None:
        """Propose to split every cluster into its halves (16)."""
        inner = self.features.statistics(self._sums)
        ratios = log_split_ratio(self.prior, inner[:, 0], inner[:, 1], self.alpha)
        lucky = np.log(self.generator.random(len(ratios))) < ratios
        self._split(np.flatnonzero(lucky))

    def _split(self, chosen: Int64[Array, " m"]) -> None:
        if not len(chosen):
            return
        K, m = self.n_clusters, len(chosen)
        table = np.repeat(np.arange(K), 2)  # of each half, its cluster
        table[2 * chosen + 1] = K + np.arange(m)
        names = self._torch.from_numpy(table).to(self.labels.device)
        self.labels = names[2 * self.labels + self.halves]
        self._resize(np.concatenate([np.arange(K), chosen]))
        new = np.concatenate([chosen, K + np.arange(m)])
        self._waits[new] = self.patience
        self._begin(new)

    def merge(self) -> None:
        """Propose to merge every pair, each cluster at most once (17, in full).

        Not the clusters that were split or merged since the last sweep.
        """
        one, other, ratios = self.merge_ratios(self._ages > 0)
        lucky = np.flatnonzero(np.log(self.generator.random(len(ratios))) < ratios)
        taken: set[int] = set()
        pairs = []
        for pair in self.generator.permutation(lucky):
            a, b = int(one[pair]), int(other[pair])
            if not taken & {a, b}:
                taken |= {a, b}
                pairs.append((a, b))
        self._merge(pairs)

    def merge_ratios(self, old: Array) -> tuple[Array, Array, Array]:
        """Pairs of these clusters, and ln H_merge of each."""
        clusters = self.clusters
        marginals = self.prior.log_marginal(clusters)
        index = np.flatnonzero(old)
        i, j = np.triu_indices(len(index), 1)
        one, other = index[i], index[j]
        gain = marginals[one] + marginals[other]
        for block in blocks(len(one), self.features.dimension**2):
            both = clusters[one[block]] + clusters[other[block]]
            gain[block] -= self.prior.log_marginal(both)
        a, b = clusters.counts[one], clusters.counts[other]
        back = log_random_halves(a, b, self.alpha)
        return one, other, back - split_ratio_of_gain(a, b, gain, self.alpha)

    def _merge(self, pairs: list[tuple[int, int]]) -> None:
        """Merge these; the halves of what comes out are what went in."""
        if not pairs:
            return
        K = self.n_clusters
        into = np.arange(K)
        for a, b in pairs:
            into[b] = a
            self._sums[a] = self._sums[[a, b]].sum(axis=1)
            self._ages[a], self._waits[a] = 0, self.patience
        merged = np.isin(np.arange(K), np.array(pairs))
        codes = self.labels.cpu().numpy()
        second = np.where(merged[codes], into[codes] != codes, self.halves.cpu().numpy())
        self.halves = self._torch.from_numpy(second).to(self.labels.device)
        stays = np.flatnonzero(into == np.arange(K))
        places = np.searchsorted(stays, into)
        self.labels = self._torch.from_numpy(places[codes]).to(self.labels.device)
        self._resize(stays)

    def restart(self) -> None:
        """Begin the halves anew where they have degenerated: one is empty, or they lead nowhere.

        A cluster whose halves led nowhere waits twice as long for the next ones.
        """
        counts = self._sums[:, :, 0]
        stale = self._ages >= self._waits
        self._waits[stale] *= 2
        self._begin(np.flatnonzero((stale | (counts.min(axis=1) == 0)) & (counts.sum(axis=1) > 1)))

    def exchange(self) -> None:
        """Propose to part or to join the clusters of two random rows, in detailed balance.

        A random split and the merge that undoes it. Two rows drawn by the same rule lead there
        and back, and either naming of the halves gives the same split: hence the factor 2.
        """
        n = len(self.labels)
        if n < 2:
            return
        i, j = (int(row) for row in self.generator.choice(n, 2, replace=False))
        a, b = int(self.labels[i]), int(self.labels[j])
        luck = np.log(self.generator.random())
        if a != b:
            clusters = self.clusters
            one, other = clusters[[a]], clusters[[b]]
            back = log_random_halves(one.counts, other.counts, self.alpha) + np.log(2)
            if luck < (back - log_split_ratio(self.prior, one, other, self.alpha))[0]:
                self._merge([(min(a, b), max(a, b))])
            return
        members = self._torch.nonzero(self.labels == a)[:, 0]
        share = self.generator.beta(self.alpha / 2, self.alpha / 2)
        drawn = self._torch.from_numpy(self.generator.random(len(members)) < share)
        halves = drawn.to(self.labels.device)
        if bool(halves[members == i]) == bool(halves[members == j]):
            return
        sums = self.passes.sums(halves.long(), 2, members)
        inner = self.features.statistics(sums[:, None])
        forth = log_random_halves(inner[0].counts, inner[1].counts, self.alpha) + np.log(2)
        if luck < (log_split_ratio(self.prior, inner[0], inner[1], self.alpha) - forth)[0]:
            self.halves[members] = halves
            self._sums[a] = sums
            self._split(np.array([a]))

    # Bookkeeping.

    def _begin(self, clusters: Int64[Array, " m"]) -> None:
        """Begin the halves of these clusters."""
        for k in clusters:
            members = self._torch.nonzero(self.labels == int(k))[:, 0]
            if len(members) > 1:
                self.halves[members] = self.start(self.passes.rows[members], self.generator)
            self._sums[k] = self.passes.sums(self.halves[members].long(), 2, members)
        self._ages[clusters] = 0

    def _resize(self, origins: Array) -> None:
        self._sums = self._sums[origins]
        self._ages, self._waits = self._ages[origins], self._waits[origins]
