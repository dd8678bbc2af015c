"""What the episodes sound like on which f goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diarize.training.episodes import Batch
from diarize.training.rendering import Acoustics

EDGES = ((50.0, 350.0), (3200.0, 3900.0))  # of telephones, Hz
USUAL = Acoustics(coded=0.25, telephone=0.7, edges=EDGES)
APART = replace(USUAL, one_place=0.35)  # of every second batch
CUT, SHORTEST, JITTER = 0.6, 44, 6  # share of batches; frames


def cropped(batch: Batch, rng: np.random.Generator) -> Batch:
    """Cut some batches to a part around the middle."""
    frames = batch.features.shape[1]
    if rng.random() >= CUT or frames <= SHORTEST:
        return batch
    kept = max(SHORTEST, int(frames * rng.uniform(0.5, 1)))
    about = (frames - kept) // 2 + int(rng.integers(-JITTER, JITTER + 1))
    begin = min(max(about, 0), frames - kept)
    return replace(batch, features=batch.features[:, begin : begin + kept])
