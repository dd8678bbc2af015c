"""Rows as features [1, x, products of x]: all that a Gaussian asks of its data.

The logarithm of a Gaussian density is linear in these features, so densities of all clusters are
one matrix product; and the sum of the features over the rows of a cluster is the cluster's
sufficient statistics. Nothing else ever touches the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64

Array = np.ndarray

LOG_2PI = float(np.log(2 * np.pi))

BLOCK_VALUES = 2**21
"""Values held at a time (16 MB): features of a block of rows, or their scores."""


@dataclass(frozen=True)
class Statistics:
    """Counts, sums and sums of products of the rows of clusters; they add up."""

    counts: Any  # rows of each cluster, (*b,), or a number where there is no batch
    sums: Float64[Array, "*b D"]
    squares: Array  # sum of x x^T, (*b, D, D); of x * x, (*b, D), for diagonal covariances

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(
            self.counts + other.counts, self.sums + other.sums, self.squares + other.squares
        )

    def __getitem__(self, which: Any) -> Statistics:
        return Statistics(self.counts[which], self.sums[which], self.squares[which])


@dataclass(frozen=True)
class Gaussians:
    """K normal distributions: means, and roots R with Sigma = R R^T (or their diagonals)."""

    means: Float64[Array, "K D"]
    roots: Array  # (K, D, D) or (K, D)

    @property
    def covariances(self) -> Array:
        """(K, D, D), or (K, D) where they are diagonal."""
        return self.roots @ self.roots.swapaxes(-1, -2) if self.roots.ndim == 3 else self.roots**2


@dataclass(frozen=True)
class Features:
    """What rows of dimension D turn into, for full or diagonal covariances."""

    dimension: int
    full: bool

    @property
    def size(self) -> int:
        """How many features a row has."""
        D = self.dimension
        return 1 + D + (D * (D + 1) // 2 if self.full else D)

    def of(self, rows: Any) -> Any:
        """Features (n, size) of a tensor of rows (n, D), in float64."""
        import torch

        x = rows.to(torch.float64)
        features = torch.empty((len(x), self.size), dtype=torch.float64, device=x.device)
        D = self.dimension
        features[:, 0] = 1.0
        features[:, 1 : 1 + D] = x
        if not self.full:
            torch.mul(x, x, out=features[:, 1 + D :])
            return features
        begin = 1 + D
        for i in range(D):  # x_i x_j with j >= i
            torch.mul(x[:, i : i + 1], x[:, i:], out=features[:, begin : begin + D - i])
            begin += D - i
        return features

    def statistics(self, sums: Float64[Array, "*b size"]) -> Statistics:
        """Sums of features as statistics."""
        D = self.dimension
        products = sums[..., 1 + D :]
        if not self.full:
            return Statistics(sums[..., 0], sums[..., 1 : 1 + D], products)
        squares = np.empty((*sums.shape[:-1], D, D))
        i, j = np.triu_indices(D)
        squares[..., i, j] = products
        squares[..., j, i] = products
        return Statistics(sums[..., 0], sums[..., 1 : 1 + D], squares)

    def weights(self, gaussians: Gaussians) -> Float64[Array, "K size"]:
        """Ln N(x; mu, Sigma) = weights . features(x)."""
        means, roots = gaussians.means, gaussians.roots
        D = self.dimension
        weights = np.empty((len(means), self.size))
        if self.full:
            inverse = np.linalg.inv(roots)
            precisions = inverse.swapaxes(-1, -2) @ inverse
            linear = (precisions @ means[:, :, None])[:, :, 0]
            log_det = np.linalg.slogdet(roots)[1]
            i, j = np.triu_indices(D)
            # The products of two different dimensions stand once and count twice.
            weights[:, 1 + D :] = precisions[:, i, j] * np.where(i == j, -0.5, -1.0)
        else:
            precisions = roots**-2.0
            linear = precisions * means
            log_det = np.log(roots).sum(axis=1)
            weights[:, 1 + D :] = -0.5 * precisions
        weights[:, 1 : 1 + D] = linear
        weights[:, 0] = -D / 2 * LOG_2PI - log_det - 0.5 * (linear * means).sum(axis=1)
        return weights


def blocks(n: int, values: int, most: int = BLOCK_VALUES) -> Iterator[slice]:
    """Slices over n rows that hold `values` values each, with at most so many values."""
    size = max(1, most // values)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))
