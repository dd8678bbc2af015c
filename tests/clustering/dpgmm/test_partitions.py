"""The partition that a chain begins with."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diarize.clustering.dpgmm.moves import log_joint
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.partitions import Counted, first_partition, joined, medoid, to_mode
from diarize.clustering.dpgmm.passes import Passes
from diarize.clustering.dpgmm.starts import means_start, random_start


def begun(x, start=means_start):
    passes = Passes(torch.from_numpy(x), True)
    prior = NIW.from_data(x)
    return first_partition(passes, prior, 1.0, start, np.random.default_rng(0)).numpy()


def joint(x, labels):
    passes = Passes(torch.from_numpy(x), True)
    codes = torch.from_numpy(np.asarray(labels))
    seen = passes.features.statistics(passes.sums(codes, int(codes.max()) + 1))
    return log_joint(NIW.from_data(x), seen, 1.0)


@pytest.mark.parametrize("k", [1, 2, 5, 30])
def test_islands_are_found_at_once(k):
    generator = np.random.default_rng(0)
    truth = np.arange(40 * k) % k
    x = 60 * generator.normal(size=(k, 2))[truth] + generator.normal(size=(40 * k, 2))
    labels = begun(x)
    assert set(labels) == set(range(labels.max() + 1))
    assert len(set(zip(labels, truth, strict=True))) == max(k, labels.max() + 1)
    assert joint(x, labels) >= joint(x, truth) - 40


def test_a_cut_is_taken_that_pays_only_later():
    # A ring of clusters: every cut through the middle loses, the clusters win.
    generator = np.random.default_rng(1)
    angles = generator.integers(0, 24, 1200) * np.pi / 12
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    x = 10 * ring + 0.3 * generator.normal(size=(1200, 2))
    whole = joint(x, np.zeros(1200, int))
    labels = begun(x)
    assert labels.max() >= 10 and joint(x, labels) > whole
    assert begun(x, random_start).max() == 0


def test_few_rows_and_rows_that_coincide():
    assert begun(np.zeros((1, 2))).tolist() == [0]
    assert len(begun(np.ones((9, 2)))) == 9


def test_clusters_torn_apart_are_joined_as_pairs_pay():
    generator = np.random.default_rng(0)
    x = np.concatenate([generator.normal(size=(90, 2)), 30 + generator.normal(size=(60, 2))])
    pieces = np.concatenate([np.arange(90) % 3, 3 + np.arange(60) % 2])
    passes = Passes(torch.from_numpy(x), True)
    sums = passes.sums(torch.from_numpy(pieces), 5)
    before = sums.copy()
    into = joined(passes.features, sums, NIW.from_data(x), 1.0)
    assert into.tolist() == [0, 0, 0, 1, 1]
    assert np.array_equal(sums, before)
    apart = passes.sums((torch.arange(150) >= 90).long(), 2)
    assert joined(passes.features, apart, NIW.from_data(x), 1.0).tolist() == [0, 1]


def counted(rows, labels):
    prior = NIW.from_data(rows)
    return Counted(rows, np.array(labels), prior, 1.0, np.random.default_rng(0))


def partition(labels):
    return {frozenset(np.flatnonzero(labels == k)) for k in set(labels)}


def test_the_likeliest_clusters_are_merged_and_split():
    generator = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 30)
    rows = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 30.0]])[truth] + generator.normal(size=(90, 2))
    parted = np.where((truth == 1) & (generator.random(90) < 0.5), 3, truth)
    names = counted(rows, parted)
    names.merge()
    assert partition(names.labels) == partition(truth)
    names = counted(rows, np.minimum(truth, 1))
    names.split()
    assert partition(names.labels) == partition(truth)


def test_from_one_to_all_and_back_even_where_rows_coincide():
    for rows in (np.ones((6, 2)), np.random.default_rng(0).normal(size=(6, 3))):
        names = counted(rows, [0] * 6)
        for k in range(2, 7):
            names.split()
            assert sorted(set(names.labels)) == list(range(k))
        for k in range(5, 0, -1):
            names.merge()
            assert sorted(set(names.labels)) == list(range(k))


def test_the_posterior_rises_to_a_mode_and_no_cluster_is_empty():
    generator = np.random.default_rng(0)
    truth = np.arange(400) % 4
    x = 4 * generator.normal(size=(4, 2))[truth] + generator.normal(size=(400, 2))
    passes, prior = Passes(torch.from_numpy(x), True), NIW.from_data(x)
    scattered = np.where(generator.random(400) < 0.3, generator.integers(0, 4, 400), truth)
    scattered[0] = 4  # a cluster of one row

    def joint(labels: torch.Tensor) -> float:
        K = int(labels.max()) + 1
        assert set(labels.tolist()) == set(range(K))
        return log_joint(prior, passes.features.statistics(passes.sums(labels, K)), 1.0)

    begin = torch.from_numpy(scattered)
    found = to_mode(passes, begin, prior, 1.0)
    assert joint(found) > joint(begin) + 100
    assert torch.equal(to_mode(passes, found, prior, 1.0), found)


def test_of_several_partitions_the_one_in_the_middle_counts():
    truth = np.repeat([0, 1, 2], 30)
    one, far = np.zeros(90, np.int64), np.arange(90) % 5
    near = truth.copy()
    near[:3] = 1
    assert medoid([truth]) == 0
    assert medoid([far, one, near, truth, near]) == 2
    assert medoid([one, 2 - truth, truth]) == 1  # names do not matter; the first of equal ones


def test_the_loss_between_partitions_counts_pairs():
    generator = np.random.default_rng(0)
    for _ in range(20):
        many = [np.unique(generator.integers(0, 4, 25), return_inverse=True)[1] for _ in range(5)]
        together = np.array([labels[:, None] == labels for labels in many])
        losses = [(together != own).sum() for own in together]
        assert losses[medoid(many)] == min(losses)
