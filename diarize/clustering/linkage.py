"""Single linkage that keeps to links between rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64

from diarize.clustering.assignment import cluster_means, squared_distances

Pairs = Int64[np.ndarray, "_ 2"]


@dataclass(frozen=True)
class PairwiseLinks:
    """Pairs of rows that belong together, and pairs that do not.

    Attributes:
        must: numbers of rows that have the same set of speakers.
        cannot: numbers of rows that have different sets.
    """

    must: Pairs
    cannot: Pairs

    @classmethod
    def of(cls, must_link: Any, cannot_link: Any, n_rows: int) -> PairwiseLinks:
        """Check links between n rows.

        Raises:
            ValueError: not pairs of row numbers, or links that contradict each other: the message
                names a pair that must not be linked, though other links join it.
        """
        links = cls(
            _pairs("must_link", must_link, n_rows), _pairs("cannot_link", cannot_link, n_rows)
        )
        group = links.groups(n_rows)
        wrong = group[links.cannot[:, 0]] == group[links.cannot[:, 1]]
        if wrong.any():
            i, j = links.cannot[wrong.argmax()]
            raise ValueError(f"rows {i} and {j} must be linked, and must not be")
        return links

    @property
    def rows(self) -> Int64[np.ndarray, " r"]:
        """The rows that have a link, sorted."""
        return np.unique(np.concatenate([self.must, self.cannot]))

    def groups(self, n_rows: int) -> Int64[np.ndarray, " n"]:
        """Numbers of rows, equal where links join them."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ones = np.ones(len(self.must))
        graph = coo_array((ones, (self.must[:, 0], self.must[:, 1])), shape=(n_rows, n_rows))
        return connected_components(graph, directed=False)[1].astype(np.int64)

    def among(self, sample: Int64[np.ndarray, " s"]) -> PairwiseLinks:
        """The same links by their places in a sorted sample that has all rows with links."""
        return PairwiseLinks(
            *(np.searchsorted(sample, pairs).astype(np.int64) for pairs in (self.must, self.cannot))
        )

    def allow(self, membership: Bool[np.ndarray, "n k"]) -> bool:
        """Whether rows that must not be linked have different sets."""
        i, j = self.cannot.T
        return bool((membership[i] != membership[j]).any(axis=1).all())


def _pairs(name: str, links: Any, n_rows: int) -> Pairs:
    pairs = np.asarray([] if links is None else links)
    if not pairs.size:
        return np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(f"{name} must be pairs of row numbers, shape (m, 2)")
    if pairs.min() < 0 or pairs.max() >= n_rows:
        row = int(pairs.min() if pairs.min() < 0 else pairs.max())
        raise ValueError(f"{name} names row {row}, but there are {n_rows} rows")
    return pairs.astype(np.int64)


def linked_trees(
    alike: Float64[np.ndarray, "n n"], links: PairwiseLinks, smallest: int, most: int
) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " kept"]]:
    """Cut single linkage where it has as many trees of some size as may be.

    That is Kruskal's algorithm with the changes of section 9.1 of the paper: rows that must be
    linked come first, and no edge joins trees that hold rows that must not be linked.

    Args:
        alike: similarities of all pairs, symmetric.
        links: between the rows.
        smallest: fewest rows of a tree that counts; one that holds a row that must not be linked
            to another always does.
        most: largest number of trees that count.

    Returns:
        A tree for each row, and the trees that count.
    """
    n = len(alike)
    must = links.groups(n)
    near = np.where(must[:, None] == must, alike.max() + 1, alike)
    i, j = links.cannot.T
    near[i, j] = near[j, i] = -np.inf
    np.fill_diagonal(near, -np.inf)
    bound = np.zeros(n, bool)
    bound[links.cannot] = True
    labels, size = np.arange(n), np.ones(n, np.int64)
    best, partner = near.max(axis=1), near.argmax(axis=1)
    answer: tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " kept"]] | None = None
    while True:
        kept = np.flatnonzero((size >= min(smallest, n)) | (bound & (size > 0)))
        one = int(best.argmax())
        forced = best[one] > alike.max()
        enough = answer is None or len(kept) > len(answer[1])
        if not forced and 0 < len(kept) <= most and enough:
            answer = labels.copy(), kept
        if np.isneginf(best[one]):
            break
        other = int(partner[one])
        near[one] = np.where(
            np.isneginf(near[one]) | np.isneginf(near[other]),
            -np.inf,
            np.maximum(near[one], near[other]),
        )
        near[:, one] = near[one]
        near[other], near[:, other] = -np.inf, -np.inf
        labels[labels == other] = one
        size[one] += size[other]
        size[other] = 0
        bound[one] |= bound[other]
        bound[other] = False
        stale = np.flatnonzero((partner == one) | (partner == other))
        stale = np.union1d(stale, [one, other])
        best[stale], partner[stale] = near[stale].max(axis=1), near[stale].argmax(axis=1)
    if answer is None:  # more trees must be kept apart than are wanted
        answer = labels, kept
    return answer


def merged_apart(
    rows: Float[np.ndarray, "n p"], labels: Int64[np.ndarray, " n"], cannot: Pairs
) -> Iterator[Int64[np.ndarray, " n"]]:
    """These clusters, then one fewer by Ward's criterion, and so on while links allow."""
    while True:
        yield labels
        k = int(labels.max()) + 1
        counts = np.bincount(labels).astype(np.float64)
        means = cluster_means(rows, labels, k)
        weights = counts[:, None] * counts / (counts[:, None] + counts)
        costs = squared_distances(means, means) * weights
        i, j = labels[cannot].T
        costs[i, j] = costs[j, i] = np.inf
        costs[np.tril_indices(k)] = np.inf
        stays, goes = divmod(int(costs.argmin()), k)
        if np.isinf(costs[stays, goes]):
            return
        labels = np.where(labels == goes, stays, labels - (labels > goes))
