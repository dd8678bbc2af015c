"""From a drawn partition to a mode beside it: each row goes to its likeliest cluster."""

from __future__ import annotations

from typing import Any

import numpy as np

from diarize.clustering.dpgmm.moves import log_joint
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.passes import Passes

ROUNDS = 20
"""Most rounds of it; the first ones bring nearly all."""


def settled(passes: Passes, labels: Any, prior: NIW, alpha: float) -> Any:
    """Labels moved to their likeliest cluster, as long as the posterior of the partition rises.

    Where clusters overlap, drawn labels are scattered as the posterior of each row has it; this
    takes their scatter away. Clusters that lose all rows vanish.

    Args:
        passes: over the rows.
        labels: torch tensor (n,), from 0, no cluster empty.
        prior: of the clusters.
        alpha: concentration.

    Returns:
        Such labels.
    """
    import torch

    best, value = labels, -np.inf
    for _ in range(ROUNDS):
        K = int(labels.max()) + 1
        seen = passes.features.statistics(passes.sums(labels, K))
        now = log_joint(prior, seen, alpha)
        if now <= value:
            break
        best, value = labels, now
        weights = passes.features.weights(prior.posterior(seen).expected())
        weights[:, 0] += np.log(seen.counts)
        labels = torch.unique(passes.likeliest(weights), return_inverse=True)[1]
    return best
