"""How near is near enough? The thresholds of Links on cosine similarity.

Mansfield, Wang, Downey, Wan, Moreno, "Links: A High-Dimensional Online Clustering Method",
sections 2.3 and 3.5. Of a cluster in many dimensions (128 or more) it is assumed that all its
vectors lie at almost the same angle from its center, T_c being the cosine, and that their parts
across it are almost perpendicular to each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Thresholds:
    """The three thresholds, all of them cosines.

    Attributes:
        cluster: T_c, of a vector and the center of its cluster; between 0 and 1, both left out.
        subcluster: T_s, from which on a vector belongs to a subcluster; above 0, at most 1.
        pair: T_p, what two large subclusters of one cluster must reach; from T_c^2 to 1.

    Raises:
        ValueError: one of them lies elsewhere.
    """

    cluster: Any
    subcluster: Any
    pair: Any

    def __post_init__(self) -> None:
        for name, value in (
            ("T_c", self.cluster),
            ("T_s", self.subcluster),
            ("T_p", self.pair),
        ):
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise ValueError(f"{name} must be a number, got {value!r}")
        if not 0 < self.cluster < 1:
            raise ValueError(f"T_c must lie between 0 and 1, got {self.cluster!r}")
        if not 0 < self.subcluster <= 1:
            raise ValueError(f"T_s must lie above 0 and be at most 1, got {self.subcluster!r}")
        if not self.cluster**2 <= self.pair <= 1:
            raise ValueError(f"T_p must lie between T_c^2 and 1, got {self.pair!r}")

    def of_pair(self, k: Any, other: Any) -> Any:
        """Least similarity of two subclusters of k and `other` vectors that share a cluster."""
        start = self.cluster**2  # s(1, 1), before and after the interpolation
        slope = (self.pair - start) / (1 - start)
        return start + slope * (pair_similarity(k, other, self.cluster) - start)  # (24)

    def of_vector(self, k: Any) -> Any:
        """Least similarity of a vector and a subcluster of k vectors of the same cluster."""
        return self.of_pair(k, 1)  # (25)


def pair_similarity(k: Any, other: Any, cluster: float) -> Any:
    """Expected similarity of the centroids of k and of `other` vectors of one cluster."""
    spread = 1 / cluster**2 - 1  # tan^2 of the angle
    return 1 / np.sqrt((1 + spread / k) * (1 + spread / other))  # (16)
