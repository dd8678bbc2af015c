"""Fewer dimensions before the sampler: full covariances of 256 need more rows than there are.

For the shipped embedding the axes are those of its training speakers, and the scatter of one voice
along them is known; both ship in one file beside the weights, which
`recipes/dpgmm/reduction.py SPEECH_DIR` makes anew.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from jaxtyping import Float64

from diarize.clustering.base import Rows
from diarize.clustering.dpgmm.niw import NIW
from diarize.shipped import models_folder

AXES = 20
"""Dimensions that are kept, as in the paper (section 5.2)."""

HEADER = "diarize.reduction"
"""Key of the file's header under which it says which model it belongs to."""

CERTAINTY = 40.0
"""How many rows the known scatter of a voice is worth, twice as many as it has dimensions."""


def shipped_reduction() -> Path:
    """Where the axes of the shipped embedding lie."""
    return models_folder() / "dpgmm" / "lstm-compositional-pca.safetensors"


@cache
def _shipped() -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file

    path = shipped_reduction()
    if not path.is_file():
        return {}
    return {name: value.astype(np.float64) for name, value in load_file(path).items()}


def reduce_rows(rows: Rows) -> tuple[Float64[np.ndarray, "n d"], NIW]:
    """At most `AXES` coordinates of each row, and the prior for them.

    Rows of the shipped embedding's dimension are taken for its vectors: they are projected onto
    the principal axes of its training speakers, and a cluster is expected to scatter as a voice
    does. Any other rows are projected onto their own axes (kept as they are where they have no
    more than `AXES` dimensions), and get the default prior.
    """
    shipped = _shipped()
    if shipped and rows.shape[1] == len(shipped["mean"]):
        reduced = (rows - shipped["mean"]) @ shipped["axes"].T
        within = shipped["within"]
        between = shipped["total"] - shipped["within"]
        nu = len(within) + 1 + CERTAINTY
        kappa = float(np.trace(within) / np.trace(between))
        return reduced, NIW(np.zeros(len(within)), kappa, CERTAINTY * within, nu)
    centered = rows - rows.mean(axis=0, dtype=np.float64)
    if rows.shape[1] > AXES:
        axes = np.linalg.svd(centered, full_matrices=False)[2][:AXES]
        centered = centered @ axes.T
    return centered, NIW.from_data(centered)
