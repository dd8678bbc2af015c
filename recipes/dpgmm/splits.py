"""Sets that fall into two Gaussians, drawn on the spot: what SplitNet learns from (appendix E).

Difficulty is a number from 0 (easy) to 1 (hard), between the two priors of table 2. In appendix
E's text the effect of kappa is reversed: the larger it is, the nearer the means, and the harder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float32, Float64

from diarize.clustering.dpgmm.moves import log_split_ratio
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.statistics import Statistics

LEAST_RATIO = 1.0
"""A set is splittable when the logarithm of its Hastings ratio (16) is larger (appendix D.1)."""

SHARES = (10.0, 2.0)
"""alpha_Dir of the halves' shares, easy and hard; the paper does not print its own."""

LEAST_IN_HALF = 4
"""Rows that each half has at least."""

MOST_TRIES = 2000
"""Draws for one set at most: with table 2's priors, one in ten or so is splittable in two
dimensions, where rows are few still fewer, and almost all are in more."""


@dataclass(frozen=True)
class Priors:
    """kappa and nu of the easy and of the hard prior; mu_0 = 0 and psi = I (table 2)."""

    kappa: tuple[float, float]
    nu: tuple[float, float]

    @classmethod
    def of(cls, dimension: int) -> Priors:
        """Table 2's, and for other dimensions what lies between or beyond them."""
        if dimension <= 2:
            return cls((0.1, 2.0), (dimension + 8.0, dimension + 2.0))
        if dimension <= 10:
            return cls((0.1, 5.0), (dimension + 10.0, dimension + 1.0))
        return cls((0.1, 2.5), (dimension + 5.0, dimension + 1.0))


def draw_sets(
    generator: np.random.Generator,
    dimension: int,
    levels: Float64[np.ndarray, " b"],
    n_rows: int,
) -> tuple[Float32[np.ndarray, "b n D"], Bool[np.ndarray, "b n"]]:
    """Splittable sets and their halves, Algorithm 2.

    Args:
        generator: what draws.
        dimension: D.
        levels: difficulty of each set, 0 to 1.
        n_rows: rows of each set.

    Returns:
        Rows, and whether each is in the second half; rows are in no particular order.
    """
    B = len(levels)
    rows = np.zeros((B, n_rows, dimension), np.float32)
    halves = np.zeros((B, n_rows), bool)
    open_ = np.arange(B)
    for _ in range(MOST_TRIES):
        x, z = _draw(generator, dimension, levels[open_], n_rows)
        ratios = _log_ratios(x, z, _prior(dimension, levels[open_]))
        good = ratios > LEAST_RATIO
        rows[open_[good]], halves[open_[good]] = x[good], z[good]
        open_ = open_[~good]
        if not len(open_):
            return rows, halves
    raise ValueError(f"no splittable sets of {n_rows} rows in {dimension} dimensions")


def _prior(dimension: int, levels: np.ndarray) -> NIW:
    priors = Priors.of(dimension)
    kappa, nu = (low + levels * (high - low) for low, high in (priors.kappa, priors.nu))
    B = len(levels)
    psi = np.broadcast_to(np.eye(dimension), (B, dimension, dimension))
    return NIW(np.zeros((B, dimension)), kappa, psi, nu)


def _draw(
    generator: np.random.Generator, dimension: int, levels: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    B = len(levels)
    alpha = SHARES[0] + levels * (SHARES[1] - SHARES[0])
    share = generator.beta(alpha, alpha)
    second = np.clip(np.ceil(share * n), LEAST_IN_HALF, n - LEAST_IN_HALF)
    halves = np.argsort(generator.random((B, n)), axis=1) < second[:, None]
    prior = _prior(dimension, levels)
    first, other = prior.draw(generator), prior.draw(generator)
    noise = generator.standard_normal((B, n, dimension))
    which = halves[:, :, None]
    rows = np.where(
        which,
        other.means[:, None] + noise @ other.roots.swapaxes(1, 2),
        first.means[:, None] + noise @ first.roots.swapaxes(1, 2),
    )
    return rows, halves


def _log_ratios(rows: np.ndarray, halves: np.ndarray, prior: NIW) -> np.ndarray:
    def of(member: np.ndarray) -> Statistics:
        weights = member.astype(np.float64)
        weighted = rows * weights[:, :, None]
        return Statistics(weights.sum(axis=1), weighted.sum(axis=1), weighted.swapaxes(1, 2) @ rows)

    return log_split_ratio(prior, of(~halves), of(halves), 1.0)
