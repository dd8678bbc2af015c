"""The adjusted Rand index of two labelings by sets."""

from __future__ import annotations

import numpy as np

from diarize.sets import SpeakerSets


def adjusted_rand_index(inferred: SpeakerSets, truth: SpeakerSets) -> float:
    """How well two partitions of the rows agree, corrected for chance: 1 at best, 0 by chance.

    Each set of speakers is a class of its own, so that this measures how pure the clusters are,
    and not whether their unions are right. Two labelings without any pair of rows to judge, or
    that both put all rows together or all apart, agree fully.

    Raises:
        ValueError: the labelings differ in length.

    Source: Hubert and Arabie (1985), equation 5.
    """
    _, _, counts = inferred.contingency(truth)
    both = _pairs(counts)
    ours, theirs = _pairs(counts.sum(axis=1)), _pairs(counts.sum(axis=0))
    n = len(truth)
    # expected = ours theirs / total; multiplied out, since Python's integers are exact.
    total = n * (n - 1) // 2
    most = (ours + theirs) * total - 2 * ours * theirs
    return 2 * (both * total - ours * theirs) / most if most else 1.0


def _pairs(counts: np.ndarray) -> int:
    """Unordered pairs of rows that share a cell."""
    return int((counts * (counts - 1) // 2).sum())
