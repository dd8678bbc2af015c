"""The sampler against recomputation and against all partitions of a few rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from scipy.special import gammaln, logsumexp
from scipy.stats import chisquare
from sklearn.metrics import adjusted_rand_score

from diarize.clustering.dpgmm.moves import log_joint
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.passes import Passes
from diarize.clustering.dpgmm.sampler import Sampler
from diarize.clustering.dpgmm.starts import means_start, random_start
from diarize.clustering.dpgmm.statistics import Features


def sampler_of(x, *, start=means_start, seed=0, alpha=1.0, diagonal=False):
    prior = NIW.from_data(x, diagonal=diagonal)
    generator = np.random.default_rng(seed)
    return Sampler(torch.from_numpy(x), prior, alpha, start, generator)


def islands(k=4, n=200, D=2, seed=0):
    generator = np.random.default_rng(seed)
    truth = np.arange(n) % k
    return 12 * generator.normal(size=(k, D))[truth] + generator.normal(size=(n, D)), truth


def search(sampler, iterations):
    for _ in range(iterations):
        sampler.sweep()
        sampler.merge()
        sampler.restart()
        sampler.split()


def check_bookkeeping(sampler):
    features = sampler.features
    phi = features.of(sampler.passes.rows).numpy()
    labels = sampler.labels.numpy()
    assert labels.min() == 0 and set(labels) == set(range(sampler.n_clusters))
    codes = 2 * labels + sampler.halves.numpy()
    sums = np.stack([phi[codes == c].sum(axis=0) for c in range(2 * sampler.n_clusters)])
    assert np.allclose(sampler._sums.reshape(sums.shape), sums, atol=1e-8)


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("cached", [True, False])
def test_statistics_stay_those_of_the_labels(diagonal, cached, monkeypatch):
    if not cached:
        monkeypatch.setattr("diarize.clustering.dpgmm.passes.CACHED_VALUES", 0)
    x, _ = islands()
    sampler = sampler_of(x, diagonal=diagonal)
    for _ in range(15):
        search(sampler, 1)
        check_bookkeeping(sampler)
        sampler.exchange()
        check_bookkeeping(sampler)
    assert sampler.n_clusters == 4


def test_islands_are_found_from_any_start():
    x, truth = islands(k=5, n=300, D=3)
    for start in (random_start, means_start):
        sampler = sampler_of(x, start=start)
        search(sampler, 60)
        assert sampler.n_clusters == 5
        assert adjusted_rand_score(truth, sampler.labels) > 0.95


def test_blocks_of_any_size_give_the_same_chain(monkeypatch):
    x, _ = islands(n=90)
    chains = [sampler_of(x) for _ in range(4)]
    for sampler, values in zip(chains, (1, 50, 700, 2**17), strict=True):
        monkeypatch.setattr("diarize.clustering.dpgmm.passes.PASS_VALUES", values)
        search(sampler, 8)
        assert torch.equal(sampler.labels, chains[0].labels)
        assert torch.equal(sampler.halves, chains[0].halves)


def test_sweeps_keep_every_cluster_alive():
    x, _ = islands(n=40)
    sampler = sampler_of(x)
    search(sampler, 10)
    K = sampler.n_clusters
    # All alike: rows wander, and small clusters would die.
    sampler.passes = Passes(sampler.passes.rows * 0, full=True)
    sampler._begin(np.arange(K))
    for _ in range(50):
        sampler.sweep()
        assert set(sampler.labels.tolist()) == set(range(K))


def test_halves_that_lead_nowhere_begin_anew_more_and_more_rarely():
    begun = []
    x = np.random.default_rng(0).normal(size=(60, 2))

    def start(rows, generator):
        begun.append(len(rows))
        return random_start(rows, generator)

    sampler = sampler_of(x, start=start)
    sampler.patience = 3
    sampler._waits[:] = 3
    for _ in range(3 + 6 + 12 + 1):
        sampler._sums[:, :, 0] = np.maximum(sampler._sums[:, :, 0], 1)
        sampler.sweep()
        sampler.restart()
    assert begun == [60] * 4


def test_a_chain_begins_where_halves_of_halves_pay():
    x, truth = islands(k=6, n=300)
    sampler = sampler_of(x)
    sampler.begin()
    check_bookkeeping(sampler)
    assert adjusted_rand_score(truth, sampler.labels) > 0.95
    alike = sampler_of(x, start=random_start)
    alike.begin()
    assert alike.n_clusters == 1


def test_merge_ratios_are_those_of_pairs():
    x, _ = islands()
    sampler = sampler_of(x)
    search(sampler, 15)
    clusters, alpha = sampler.clusters, sampler.alpha
    one, other, ratios = sampler.merge_ratios(np.ones(sampler.n_clusters, bool))
    assert len(ratios) == sampler.n_clusters * (sampler.n_clusters - 1) // 2
    for a, b, ratio in zip(one, other, ratios, strict=True):
        # (17) times the probability of the random split back, written out.
        left, right, marginal = clusters[a], clusters[b], sampler.prior.log_marginal
        n, sizes = left.counts + right.counts, np.array([left.counts, right.counts])
        direct = (
            -np.log(alpha) + gammaln(alpha) - 2 * gammaln(alpha / 2)
            + gammaln(n) - gammaln(n + alpha) + (gammaln(sizes + alpha / 2) - gammaln(sizes)).sum()
            + marginal(left + right) - marginal(left) - marginal(right)
        )  # fmt: skip
        assert ratio == pytest.approx(float(direct))


def partitions(n):
    """Every partition of n rows, as labels in order of appearance."""
    found = [(0,)]
    for _ in range(n - 1):
        found = [(*p, k) for p in found for k in range(max(p) + 2)]
    return found


def canonical(labels):
    names = {}
    return tuple(names.setdefault(int(k), len(names)) for k in labels)


@pytest.mark.parametrize(("n", "alpha", "diagonal"), [(4, 2.0, False), (5, 0.6, True)])
def test_long_runs_visit_partitions_as_often_as_they_are_probable(n, alpha, diagonal):
    x = np.random.default_rng(n).normal(size=(n, 2))
    x[: n // 2] += 1.5
    sampler = sampler_of(x, start=random_start, alpha=alpha, diagonal=diagonal, seed=1)
    features = Features(2, not diagonal)
    phi = features.of(torch.from_numpy(x)).numpy()
    every = partitions(n)
    logs = []
    for labels in every:
        sums = np.stack([phi[np.array(labels) == k].sum(axis=0) for k in range(max(labels) + 1)])
        logs.append(log_joint(sampler.prior, features.statistics(sums), alpha))
    expected = np.exp(logs - logsumexp(logs))
    seen: Counter[tuple[int, ...]] = Counter()
    draws, thinning = 250, 10  # far enough apart to count as independent
    for _ in range(draws):
        for _ in range(thinning):
            sampler.sweep()
            for _ in range(6):
                sampler.exchange()
        seen[canonical(sampler.labels)] += 1
    counts = np.array([seen[p] for p in every], dtype=float)
    rare = expected * draws < 5  # these are counted together
    counts = np.append(counts[~rare], counts[rare].sum())
    wanted = np.append(expected[~rare], expected[rare].sum()) * draws
    keep = wanted > 0
    assert chisquare(counts[keep], wanted[keep]).pvalue > 0.01
