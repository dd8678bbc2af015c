"""Single linkage with links, against scipy without them and brute force with them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform

from diarize.clustering.constraints import Constraints
from diarize.clustering.forest import at_most, linked_trees
from diarize.clustering.merging import coarser


def similarities(seed: int, n: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).random((n, n))
    return (drawn + drawn.T) / 2


def partition(labels: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(labels == one).tolist()) for one in labels}


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 12))
def test_without_links_it_is_single_linkage(seed: int, n: int, k: int) -> None:
    alike = similarities(seed, n)
    labels, kept = linked_trees(alike, Constraints.of(None, None, n), 1, k)
    assert len(kept) == min(k, n)
    if n > 1:
        np.fill_diagonal(alike, 1.0)
        tree = linkage(squareform(1 - alike, checks=False), "single")
        assert partition(labels) == partition(fcluster(tree, min(k, n), "maxclust"))


@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(1, 6), st.integers(1, 3))
def test_links_are_kept(seed: int, n: int, most: int, smallest: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, n)
    pairs = rng.integers(0, n, (4, 2))
    same = truth[pairs[:, 0]] == truth[pairs[:, 1]]
    links = Constraints.of(pairs[same], pairs[~same], n)
    labels, kept = linked_trees(similarities(seed, n), links, smallest, most)
    assert (labels[links.must[:, 0]] == labels[links.must[:, 1]]).all()
    assert (labels[links.cannot[:, 0]] != labels[links.cannot[:, 1]]).all()
    assert set(kept) <= set(labels)
    assert set(labels[links.cannot].ravel()) <= set(kept)


def test_small_trees_do_not_count() -> None:
    alike = np.zeros((7, 7))
    alike[:3, :3] = alike[3:6, 3:6] = 0.9
    free = Constraints.of(None, None, 7)
    labels, kept = linked_trees(alike + similarities(0, 7) / 100, free, 2, 5)
    assert sorted(np.bincount(labels)[kept]) in ([2, 2], [3, 3], [2, 3])
    assert labels[6] not in kept


def test_clusters_are_merged_while_links_allow() -> None:
    rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    steps = list(coarser(rows, np.arange(4), np.array([[0, 1]])))
    assert [len(set(step)) for step in steps] == [4, 3, 2]
    assert all(step[0] != step[1] for step in steps)
    assert len(list(coarser(rows, np.arange(4), Constraints.of(None, None, 4).cannot))) == 4


@pytest.mark.parametrize(("most", "sizes"), [(9, [4, 3, 2]), (3, [3, 2]), (2, [2]), (1, [2])])
def test_partitions_of_few_clusters(most: int, sizes: list[int]) -> None:
    rows = np.array([[0.0], [1.0], [10.0], [11.0]])
    steps = at_most(most, coarser(rows, np.arange(4), np.array([[0, 1]])))
    assert [len(set(step)) for step in steps] == sizes


@pytest.mark.parametrize(
    ("must", "cannot", "reason"),
    [
        ([(0, 1), (1, 2)], [(2, 0)], "rows 2 and 0 must be linked, and must not be"),
        (None, [(3, 3)], "rows 3 and 3 must be linked, and must not be"),
        ([(0, 5)], None, "must_link names row 5, but there are 5 rows"),
        (None, [(-1, 2)], "cannot_link names row -1"),
        ([0, 1], None, "must_link must be pairs of row numbers"),
        ([(0.5, 1.0)], None, "must_link must be pairs of row numbers"),
    ],
)
def test_links_that_cannot_be_used_are_refused(must, cannot, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Constraints.of(must, cannot, 5)
