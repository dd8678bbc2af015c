"""First centroids for the restarts of compositional k-means."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64

from diarize.clustering.set_composer import SetComposer

SPREAD_ROWS = 2000
"""Rows among which spread centroids are looked for; a sample of this size will do."""


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
) -> Float64[np.ndarray, "r k p"]:
    """Per restart, rows far from one another and from what they compose.

    As in k-means++, the next row is drawn with a probability proportional to its squared distance
    from the nearest center, which may be a composition of earlier rows: so a mixture of two
    speakers who have been drawn is not taken for a third.
    """
    k = composer.sets.shape[1]
    size = min(len(rows), max(SPREAD_ROWS, k))
    pool = rows[generator.choice(len(rows), size, replace=False)].astype(np.float64)
    chosen = np.zeros((n_restarts, k, pool.shape[1]))
    nearest = np.full((n_restarts, size), np.inf)
    taken = np.zeros((n_restarts, size), dtype=bool)
    every = np.arange(n_restarts)
    latest = k - 1 - composer.sets[:, ::-1].argmax(axis=1)  # the last speaker of each set
    for speaker in range(k):
        weight = np.where(taken, 0.0, nearest) if speaker else np.ones_like(nearest)
        # Where all rows left coincide with a center, any of them will do.
        weight[weight.sum(axis=1) <= 0] = 1.0
        weight[taken] = 0.0
        reach = np.cumsum(weight, axis=1)
        drawn = generator.random(n_restarts) * reach[:, -1]
        row = np.minimum((reach <= drawn[:, None]).sum(axis=1), size - 1)
        chosen[:, speaker], taken[every, row] = pool[row], True
        if speaker == k - 1:
            break
        new = composer.only(latest == speaker)
        centers = new(chosen)
        distances = squared_distances(pool, centers) + offsets[latest == speaker][:, None]
        nearest = np.minimum(nearest, distances.min(axis=1))
    return chosen


def squared_distances(
    rows: Float64[np.ndarray, "n p"], centers: Float64[np.ndarray, "r m p"]
) -> Float64[np.ndarray, "r m n"]:
    """Of all rows from all centers, none below zero."""
    squares = (centers**2).sum(axis=2)[:, :, None] + (rows**2).sum(axis=1)
    return np.maximum(squares - 2 * (centers @ rows.T), 0)
