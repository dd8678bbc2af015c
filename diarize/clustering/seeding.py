"""First centroids for the restarts of compositional k-means and of fuzzy c-means."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64, Int64

from diarize.clustering.gradient import SetComposer
from diarize.sets import squared_distances

SPREAD_ROWS = 2000
"""Rows among which spread centroids are looked for; a sample of this size will do."""

MOST_VALUES = 2**26
"""Values of compositions, of all restarts that are looked at at once (512 MB)."""


def random_rows(
    rows: Float[np.ndarray, "n p"], k: int, n_restarts: int, generator: np.random.Generator
) -> Float64[np.ndarray, "r k p"]:
    """Per restart, k different rows by chance: the paper's start (Algorithm 3)."""
    chosen = [generator.choice(len(rows), k, replace=False) for _ in range(n_restarts)]
    return rows[np.array(chosen, dtype=np.int64).reshape(n_restarts, k)].astype(np.float64)


def spread_rows(
    rows: Float[np.ndarray, "n p"],
    composer: SetComposer,
    offsets: Float64[np.ndarray, " m"],
    n_restarts: int,
    generator: np.random.Generator,
    first: Float64[np.ndarray, "first p"] | None = None,
) -> Float64[np.ndarray, "r k p"]:
    """Per restart, rows far from one another and from what they compose.

    As in k-means++, the next row is drawn with a probability proportional to its squared distance
    from the nearest center, which may be a composition of earlier rows: so a mixture of two
    speakers who have been drawn is not taken for a third. Where the first centroids are known,
    only the others are drawn.
    """
    k = composer.sets.shape[1]
    size = min(len(rows), max(SPREAD_ROWS, k))
    pool = rows[generator.choice(len(rows), size, replace=False)].astype(np.float64)
    known = 0 if first is None else len(first)
    chosen = np.zeros((n_restarts, k, pool.shape[1]))
    chosen[:, :known] = first if first is not None else 0.0
    taken = np.zeros((n_restarts, size), dtype=bool)
    nearest = np.full((n_restarts, size), np.inf)
    latest = k - 1 - composer.sets[:, ::-1].argmax(axis=1)  # the last speaker of each set
    for speaker in range(k):
        if speaker >= known:
            row = _draw(np.where(taken, 0.0, nearest), taken, generator)
            chosen[:, speaker] = pool[row]
            taken[np.arange(n_restarts), row] = True
        if speaker < k - 1:
            new = latest == speaker
            part = composer.only(new)
            at_once = max(1, MOST_VALUES // (max(part.chains, size) * pool.shape[1]))
            for begin in range(0, n_restarts, at_once):
                run = slice(begin, begin + at_once)
                distances = squared_distances(pool, part(chosen[run])) + offsets[new]
                nearest[run] = np.minimum(nearest[run], distances.min(axis=2))
    return chosen


def _draw(
    weights: Float64[np.ndarray, "r n"], taken: np.ndarray, generator: np.random.Generator
) -> Int64[np.ndarray, " r"]:
    """One row per restart, by weight; any that is left where no row has a finite weight above 0."""
    usable = np.isfinite(weights.sum(axis=1)) & (weights.sum(axis=1) > 0)
    weights = np.where(usable[:, None], weights, ~taken)
    reach = np.cumsum(weights, axis=1)
    drawn = (1 - generator.random(len(weights))) * reach[:, -1]  # in (0, total]
    return np.minimum((reach < drawn[:, None]).sum(axis=1), weights.shape[1] - 1)
