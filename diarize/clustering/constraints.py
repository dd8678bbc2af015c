"""What is known of pairs of rows: that they must, or cannot, have the same set of speakers."""

from __future__ import annotations

from dataclasses import dataclass
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

    @classmethod
    def of(cls, must_link: Any, cannot_link: Any, n_rows: int) -> Constraints:
        """Check links between n rows.

        Raises:
            ValueError: not pairs of row numbers.
            Contradiction: links contradict each other: the message names a pair that must not be
                linked, though other links join it.
        """
        links = cls(
            _pairs("must_link", must_link, n_rows), _pairs("cannot_link", cannot_link, n_rows)
        )
        group = links.groups(n_rows)
        wrong = group[links.cannot[:, 0]] == group[links.cannot[:, 1]]
        if wrong.any():
            i, j = links.cannot[wrong.argmax()]
            raise Contradiction(f"rows {i} and {j} must be linked, and must not be")
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

    def among(self, sample: Int64[np.ndarray, " s"]) -> Constraints:
        """The same links by their places in a sorted sample that has all rows with links."""
        return Constraints(
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
