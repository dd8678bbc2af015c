"""The oracle that knows every cluster, and no composition."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float64

from diarize.clustering.assignment import cluster_means
from diarize.clustering.base import Rows, SpeakerBounds
from diarize.clustering.oracle import Oracle
from diarize.sets import SpeakerSets


class OSC(Oracle):
    """Oracle singleton clustering: each true set (y of `fit`) is a speaker of its own.

    What a perfect clustering would answer that cannot infer compositions. Rows of nobody stay
    rows of nobody.
    """

    finds_overlap = False

    def _fit(
        self, rows: Rows, y: Any, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> tuple[SpeakerSets, Float64[np.ndarray, "k p"]]:
        truth, _ = super()._fit(rows, y, bounds, generator)
        spoken = truth.sizes > 0
        labels = np.full(len(truth), -1)
        clusters, labels[spoken] = truth[spoken].distinct()
        if not spoken.any():
            return SpeakerSets(np.zeros((len(rows), 0))), np.zeros((0, rows.shape[1]))
        means = cluster_means(rows[spoken], labels[spoken], len(clusters))
        return SpeakerSets.from_labels(labels), means
