"""Where a diarization errs, and in which way."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int64

from diarize.scoring.der import speaker_mapping
from diarize.scoring.elements import TICKS_PER_SECOND, Elements

Intervals = list[tuple[float, float]]

KINDS = ("missed", "false alarm", "confusion")


def error_intervals(elements: Elements) -> dict[str, Intervals]:
    """When each kind of error is made, seconds, in order of time; intervals of a kind do not touch.

    An instant has several kinds of error when several speakers are concerned. It has a kind here
    just when the diarization error rate counts it as such; how many speakers are concerned is not
    told.
    """
    reference, hypothesis = elements.reference.sizes, elements.hypothesis.sizes
    rows, columns = speaker_mapping(elements)
    right = (
        elements.reference.membership[:, rows] & elements.hypothesis.membership[:, columns]
    ).sum(axis=1)
    errs = (
        reference > hypothesis,
        hypothesis > reference,
        np.minimum(reference, hypothesis) > right,
    )
    return {
        kind: _intervals(elements, where & elements.in_der)
        for kind, where in zip(KINDS, errs, strict=True)
    }


def partners(elements: Elements) -> list[tuple[int, int]]:
    """Pairs of a reference and a hypothesis speaker (columns) who are taken for one, by the former.

    Pairs that share no time are left out.
    """
    shared = elements.shared_time()
    pairs = zip(*(side.tolist() for side in speaker_mapping(elements)), strict=True)
    return [(row, column) for row, column in pairs if shared[row, column]]


def _intervals(elements: Elements, where: Bool[np.ndarray, " n"]) -> Intervals:
    """Join the elementary intervals that are chosen where they touch."""
    start: Int64[np.ndarray, " m"] = elements.start[where]
    end: Int64[np.ndarray, " m"] = elements.end[where]
    apart = start[1:] > end[:-1]
    first = start[np.r_[True, apart]] if len(start) else start
    last = end[np.r_[apart, True]] if len(end) else end
    return list(
        zip(
            (first / TICKS_PER_SECOND).tolist(),
            (last / TICKS_PER_SECOND).tolist(),
            strict=True,
        )
    )
