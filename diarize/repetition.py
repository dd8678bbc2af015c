"""Sounds that come again: one voice that says the same once more tells nothing new of itself."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Float64

from diarize.scatter import Scatter

SAME_SOUND, AS_NEIGHBOURS = 0.5, 1.5
"""Mean squared distance within which rows in a row are of one sound that comes again: so much of
sigma^2, and of what half of the neighbours are apart, since some voices scatter less than others.
So many rows of one voice as are one observation are hardly ever as near to others."""

ASKED, BLOCK = 2000, 250
"""Rows at most, in stretches that are spread evenly, of which it is seen how often they come."""


def novelty(rows: Float[np.ndarray, "n p"], scatter: Scatter) -> Float64[np.ndarray, " n"]:
    """One by how often each row's sound comes, but for neighbours that share it.

    Args:
        rows: unit vectors, in order of time.
        scatter: how those of one voice scatter, and how many neighbours are one observation.

    Returns:
        1 where it comes once; nan where it was not looked for, in many rows.
    """
    n, units = len(rows), rows.astype(np.float32)
    if n < 2:
        return np.ones(n)
    found = np.full(n, np.nan)
    run = min(n, math.ceil(scatter.rows_per_observation))
    n_runs = n - run + 1
    neighbours = 2 - 2 * float(np.median(np.einsum("np,np->n", units[1:], units[:-1])))
    apart = min(SAME_SOUND * scatter.variance, AS_NEIGHBOURS * neighbours)
    begins = np.arange(0, n, BLOCK)
    asked = np.linspace(0, len(begins) - 1, min(len(begins), ASKED // BLOCK)).astype(int)
    for begin in begins[asked]:
        end = min(begin + BLOCK, n)
        runs = np.arange(max(0, begin - run + 1), min(end, n_runs))  # by the row they begin with
        cosines = units[runs[0] : runs[-1] + run] @ units.T
        mean = sum(cosines[k : k + len(runs), k : k + n_runs] for k in range(run)) / run
        same = (2 - 2 * mean <= apart) & (np.abs(np.arange(n_runs) - runs[:, None]) >= run)
        again = np.zeros(cosines.shape, bool)  # whether one row is of the other's sound
        for k in range(run):
            again[k : k + len(runs), k : k + n_runs] |= same
        found[begin:end] = 1 / (1 + again[begin - runs[0] : end - runs[0]].sum(axis=1))
    return found


def effective_rows(rows: Float[np.ndarray, "n p"], scatter: Scatter) -> float:
    """How many rows there would be if no sound came again."""
    return float(len(rows) * np.nanmean(novelty(rows, scatter))) if len(rows) else 0.0
