"""Combination assignment: hard labels under a prior over cluster sizes (Mahon, Lukasiewicz, 2024).

`assign` is the paper's Algorithm 1; `divergence` says how far cluster sizes are from the true ones.
`regularisers`, which needs torch, has the losses that it is compared with. The backend `ca` makes
sets of speakers out of it.
"""

from diarize.clustering.combination.divergence import hard_divergence, soft_divergence
from diarize.clustering.combination.greedy import assign, nearest

__all__ = ["assign", "hard_divergence", "nearest", "soft_divergence"]
