"""Agglomerative clustering by Ward's criterion: single speakers only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64

from diarize.clustering.base import Regions, SampledClusterer, SpeakerBounds
from diarize.clustering.checks import Rows
from diarize.clustering.geometry import cluster_means
from diarize.clustering.merging import cut, ward_tree
from diarize.clustering.selection import Criterion, Partition
from diarize.sets import SpeakerSets


@dataclass(kw_only=True, eq=False, repr=False)
class Agglomerative(SampledClusterer):
    """Agglomerative clustering with Ward's criterion: every row holds one speaker.

    Args:
        distance_threshold: clusters at this height of the tree or above are not merged, within
            the bounds on speakers; None: the number is inferred by `selection`.
        sample_size: rows fitted at most, since memory grows with their square; None: all.
    """

    distance_threshold: float | None = None
    count_penalty: float = 1.0
    sample_size: int | None = 5_000

    finds_overlap = False
    composes = False

    # The paper tries 1, 2, 3 and 4; halves lie between, and one value beyond.
    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "distance_threshold": (None, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0),
    }

    def _cluster(
        self,
        rows: Rows,
        criterion: Criterion,
        generator: np.random.Generator,
    ) -> Callable[[SpeakerBounds], Regions]:
        tree = ward_tree(rows)

        def within(bounds: SpeakerBounds) -> Regions:
            if self.distance_threshold is not None:
                apart = 1 + int((tree[:, 2] >= self.distance_threshold).sum())
                k = min(max(apart, bounds.low), bounds.high)
            else:
                k = self._infer(rows, tree, bounds, criterion)
            labels = cut(tree, k)
            means = cluster_means(rows, labels, k)
            return Regions(labels, SpeakerSets(np.eye(k)), means, np.zeros(k), means)

        return within

    def _infer(
        self,
        rows: Rows,
        tree: Float64[np.ndarray, "merges 4"],
        bounds: SpeakerBounds,
        criterion: Criterion,
    ) -> int:
        """The number of speakers that the criterion likes best."""
        # A merge at height h adds h^2 / 2 to the sum of squared distances.
        added = np.concatenate([[0.0], np.cumsum(tree[:, 2] ** 2 / 2)])
        partitions = [
            Partition(added[len(rows) - k], np.bincount(cut(tree, k)).astype(np.float64), k)
            for k in range(bounds.low, bounds.high + 1)
        ]
        return bounds.low + criterion.likeliest(partitions)
