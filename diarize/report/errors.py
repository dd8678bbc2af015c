"""Where a diarization errs, and in which way."""

from __future__ import annotations

import numpy as np

from diarize.activity.regions import close_gaps
from diarize.scoring.der import matched, speaker_mapping
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
    errs = (
        reference > hypothesis,
        hypothesis > reference,
        np.minimum(reference, hypothesis) > matched(elements),
    )
    stretches = np.stack([elements.start, elements.end], axis=1) / TICKS_PER_SECOND
    found = (close_gaps(stretches[where & elements.in_der], 0.0) for where in errs)
    return {
        kind: [(start, end) for start, end in regions.tolist()]
        for kind, regions in zip(KINDS, found, strict=True)
    }


def partners(elements: Elements) -> list[tuple[int, int]]:
    """Pairs of a reference and a hypothesis speaker (columns) who are taken for one, by the former.

    Pairs that share no time are left out.
    """
    shared = elements.shared_time()
    pairs = zip(*(side.tolist() for side in speaker_mapping(elements)), strict=True)
    return [(row, column) for row, column in pairs if shared[row, column]]
