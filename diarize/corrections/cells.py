"""Cells of time, cut where corrections begin and end."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64, Int64

from diarize.corrections.claims import RESOLUTION


def split_cells(
    cells: Float64[np.ndarray, "n 2"], borders: Float64[np.ndarray, " b"]
) -> tuple[Float64[np.ndarray, "m 2"], Int64[np.ndarray, " m"]]:
    """Cut cells such that none holds a border inside.

    Args:
        cells: disjoint stretches of time, seconds, in any order.
        borders: sorted times, seconds.

    Returns:
        The cells in order of time, and of which cell each is a part.
    """
    first = np.searchsorted(borders, cells[:, 0] + RESOLUTION)
    stop = np.maximum(np.searchsorted(borders, cells[:, 1] - RESOLUTION), first)
    cuts = stop - first  # borders inside of each cell
    whole = np.repeat(np.arange(len(cells)), cuts + 1)
    part = np.arange(len(whole)) - np.repeat(np.cumsum(cuts + 1) - cuts - 1, cuts + 1)
    before = np.append(borders, np.inf)[np.maximum(first[whole] + part - 1, 0)]
    after = np.append(borders, np.inf)[first[whole] + part]
    begins = np.where(part > 0, before, cells[whole, 0])
    ends = np.where(part < cuts[whole], after, cells[whole, 1])
    order = np.argsort(begins, kind="stable")
    return np.stack([begins, ends], axis=1)[order], whole[order].astype(np.int64)
