"""The partition that a chain begins with."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diarize.clustering.dpgmm.beginning import Tree, joined
from diarize.clustering.dpgmm.moves import log_joint
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.passes import Passes
from diarize.clustering.dpgmm.starts import means_start, random_start


def begun(x, start=means_start):
    passes = Passes(torch.from_numpy(x), True)
    prior = NIW.from_data(x)
    return Tree(passes, prior, 1.0, start, np.random.default_rng(0)).partition().numpy()


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
