"""What is known of rows beforehand (`Scatter`), as far as it holds for these rows."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from diarize.clustering.geometry import lie_on_sphere
from diarize.scatter import Axes, Scatter

VOICED, VOICES = 0.73, 0.1
"""How far on the side of all speakers (`Axes.along_mean`) a row is surely a voice, no mixture of
two; and the share of the rows that must be so, or else any may be."""


def known_of(rows: Float[np.ndarray, "n p"], scatter: Scatter | None) -> Scatter | None:
    """What is known of how these rows scatter; nothing of others than unit vectors."""
    return scatter if scatter is not None and lie_on_sphere(rows) else None


def one_sided_axes(known: Scatter | None) -> Axes | None:
    """The axes, where all speakers lie on one side."""
    return known.axes if known is not None and known.axes and known.axes.one_sided else None


def sure_voices(
    rows: Float[np.ndarray, "n p"], axes: Axes | None, least: int
) -> Bool[np.ndarray, " n"]:
    """Which rows are surely voices; all where it is not known, or where fewer are than `least`."""
    if axes is not None:
        voices = axes.along_mean(rows) >= VOICED
        if voices.sum() >= max(least, VOICES * len(rows)):
            return voices
    return np.ones(len(rows), dtype=bool)
