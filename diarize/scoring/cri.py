"""The compositional Rand index: do two labelings agree on which sets hold which?"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64, Int64

from diarize.scoring.elements import TICKS_PER_SECOND, Elements
from diarize.sets import SpeakerSets

# Frames in which conversations are compared.
_FRAME = TICKS_PER_SECOND // 100  # ticks: 10 ms


class Agreement(NamedTuple):
    """Ordered pairs of rows, and how many of them the two labelings agree about."""

    agreeing: int
    pairs: int


def compositional_rand_index(inferred: SpeakerSets, truth: SpeakerSets) -> float:
    """The share of ordered pairs of rows i != j about which two labelings agree, from 0 to 1.

    They agree when both or neither say that the set of row i is a superset of, or equal to, the
    set of row j. Names of speakers do not matter, and rows may be nobody.

    Raises:
        ValueError: the labelings differ in length, or have fewer than two rows.

    Source: compositional clustering, equation 4.
    """
    agreement = _agreement(*inferred.contingency(truth))
    if not agreement.pairs:
        raise ValueError("the compositional Rand index needs at least two rows")
    return agreement.agreeing / agreement.pairs


def frame_agreement(elements: Elements) -> Agreement:
    """Agreement over the frames of 10 ms in whose middle the reference has speech."""
    speech = elements.reference.sizes > 0
    inferred, rows = elements.hypothesis[speech].distinct()
    truth, columns = elements.reference[speech].distinct()
    counts = np.zeros((len(inferred), len(truth)), dtype=np.int64)
    frames = _middles_before(elements.end) - _middles_before(elements.start)
    np.add.at(counts, (rows, columns), frames[speech])
    return _agreement(inferred, truth, counts)


def _agreement(
    inferred: SpeakerSets, truth: SpeakerSets, counts: Int64[np.ndarray, "m1 m2"]
) -> Agreement:
    """Agreement from the contingency of two labelings: sets are compared, never rows."""
    # As float64, whose products are quick, and exact: no entry is more than n < 2^53.
    above = inferred.subsumption().astype(np.float64)  # (m1, m1)
    true_above = truth.subsumption().astype(np.float64)  # (m2, m2)
    n = int(counts.sum())
    both = _total(counts, above @ counts @ true_above.T)
    inferred_total, true_total = counts.sum(axis=1), counts.sum(axis=0)
    yes = _total(inferred_total, above @ inferred_total)
    true_yes = _total(true_total, true_above @ true_total)
    neither = n * n - yes - true_yes + both
    # A row and itself: both say yes, n times; those are no pairs.
    return Agreement(agreeing=both + neither - n, pairs=n * (n - 1))


def _total(counts: Int64[np.ndarray, "*m"], pairs: Float64[np.ndarray, "*m"]) -> int:
    """Sum of products, the factors being whole numbers; it is n^2 at most."""
    whole: Any = np.int64 if int(counts.sum()) < 2**31 else object  # Python's have no end
    return int((counts.astype(whole) * pairs.astype(np.int64).astype(whole)).sum())


def _middles_before(time: Int64[np.ndarray, " n"]) -> Int64[np.ndarray, " n"]:
    """How many frames have their middle before `time`: middles are at half a frame and so on."""
    return -((_FRAME // 2 - time) // _FRAME)
