"""More clusters and fewer."""

from __future__ import annotations

import numpy as np

from diarize.clustering.dpgmm.bounds import Counted
from diarize.clustering.dpgmm.niw import NIW


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
