"""What is known of pairs of rows: that they must, or cannot, have the same set of speakers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64

Pairs = Int64[np.ndarray, "_ 2"]


class Contradiction(ValueError):
    """No answer keeps to all links, and to the number of speakers that is asked for."""


@dataclass(frozen=True)
class Constraints:
    """Pairs of rows that belong together, and pairs that do not, by the numbers of the rows."""

    must: Pairs  # have the same set of speakers
    cannot: Pairs  # have different sets
    n_rows: int

    @classmethod
    def of(cls, must_link: Any, cannot_link: Any, n_rows: int) -> Constraints:
        """Check links between n rows.

        Raises:
            ValueError: not pairs of row numbers.
            Contradiction: links contradict each other: the message names a pair that must not be
                linked, though other links join it.
        """
        links = cls(
            _pairs("must_link", must_link, n_rows),
            _pairs("cannot_link", cannot_link, n_rows),
            n_rows,
        )
        group = links.groups
        wrong = group[links.cannot[:, 0]] == group[links.cannot[:, 1]]
        if wrong.any():
            i, j = links.cannot[wrong.argmax()]
            raise Contradiction(f"rows {i} and {j} must be linked, and must not be")
        return links

    @cached_property
    def groups(self) -> Int64[np.ndarray, " n"]:
        """Numbers of the rows, equal where links join them."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        ones, shape = np.ones(len(self.must)), (self.n_rows, self.n_rows)
        graph = coo_array((ones, (self.must[:, 0], self.must[:, 1])), shape=shape)
        return connected_components(graph, directed=False)[1].astype(np.int64)

    @cached_property
    def firsts(self) -> Int64[np.ndarray, " n"]:
        """Of each row, the first that links join it with; where none do, the row itself."""
        _, first, group = np.unique(self.groups, return_index=True, return_inverse=True)
        return first[group]

    def among(self, sample: Int64[np.ndarray, " s"]) -> Constraints:
        """The links of a sorted sample, which has the first row of each that links name."""
        firsts = self.firsts
        must = np.searchsorted(sample, np.column_stack([firsts[sample], sample]))
        cannot = np.searchsorted(sample, firsts[self.cannot])
        return Constraints(must.astype(np.int64), cannot.astype(np.int64), len(sample))

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
