"""Fewer dimensions before the sampler: full covariances of 256 need more rows than there are."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

from diarize.clustering.assignment import lie_on_sphere
from diarize.clustering.base import Rows
from diarize.clustering.dpgmm.niw import NIW
from diarize.scatter import Scatter

AXES = 20
"""Dimensions that are kept, as in the paper (section 5.2)."""

CERTAINTY = 40.0
"""How many rows the known scatter of a speaker is worth, twice as many as it has dimensions."""


def reduce_rows(
    rows: Rows, scatter: Scatter | None = None
) -> tuple[Float64[np.ndarray, "n d"], NIW]:
    """A few coordinates of each row, and the prior for them.

    Unit vectors of which the axes are known along which speakers differ are projected onto these,
    and a cluster is expected to scatter as a speaker does. Any other rows are projected onto their
    own axes, at most `AXES` (kept as they are where they have no more dimensions), and get the
    default prior.
    """
    known = None if scatter is None else scatter.axes
    if known is not None and lie_on_sphere(rows):
        reduced = (rows - known.mean) @ known.axes.T
        within, between = known.within, known.total - known.within
        nu = len(within) + 1 + CERTAINTY
        kappa = float(np.trace(within) / np.trace(between))
        return reduced, NIW(np.zeros(len(within)), kappa, CERTAINTY * within, nu)
    centered = rows - rows.mean(axis=0, dtype=np.float64)
    if rows.shape[1] > AXES:
        axes = np.linalg.svd(centered, full_matrices=False)[2][:AXES]
        centered = centered @ axes.T
    return centered, NIW.from_data(centered)
