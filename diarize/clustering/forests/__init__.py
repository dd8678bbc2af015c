"""Maximum spanning forests as a layer: gradients through a clustering, and a loss for it.

Stewart, Bach, Llinares-López, Berthet, "Differentiable Clustering with Perturbed Spanning Forests"
(NeurIPS 2023). Nothing here knows of audio: any model that gives similarities can be trained.
"""

from __future__ import annotations

from diarize.clustering.forests.perturbed import (
    PartialFenchelYoungLoss,
    perturbed_connectivity,
    perturbed_forest,
)
from diarize.clustering.forests.spanning import Forest, links_from_labels, max_spanning_forest

__all__ = [
    "Forest",
    "PartialFenchelYoungLoss",
    "links_from_labels",
    "max_spanning_forest",
    "perturbed_connectivity",
    "perturbed_forest",
]
