"""Means of clusters, on the sphere where the rows lie on it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Float64, Int64

from diarize.sets import to_sphere

UNIT_TOLERANCE = 1e-3
"""How far the norm of a unit vector may be from 1: wide enough for half precision."""


def cluster_means(
    rows: Float[np.ndarray, "n p"], labels: Int64[np.ndarray, " n"], n_clusters: int
) -> Float64[np.ndarray, "m p"]:
    """Mean of each cluster, none of them empty; on the sphere if all rows are."""
    from scipy.sparse import csr_array

    member = csr_array(
        (np.ones(len(labels)), (labels, np.arange(len(labels)))), shape=(n_clusters, len(labels))
    )
    means = (member @ rows.astype(np.float64)) / member.sum(axis=1)[:, None]
    return to_sphere(means) if lie_on_sphere(rows) else means


def lie_on_sphere(rows: Float[np.ndarray, "n p"]) -> bool:
    """Are all rows unit vectors, up to the rounding of half precision?"""
    lengths = np.sqrt(np.einsum("np,np->n", rows, rows))
    return len(rows) > 0 and bool((np.abs(lengths - 1) < UNIT_TOLERANCE).all())


def nearest_cosine(rows: Float64[np.ndarray, "n p"]) -> float:
    """The largest cosine of two of the rows; -1 where there are fewer."""
    unit = to_sphere(rows)
    cosines = unit @ unit.T
    return float(cosines[np.triu_indices(len(rows), 1)].max(initial=-1.0))
