"""The diarization error rate and its three parts, as in NIST's md-eval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Int64

from diarize.scoring.elements import Elements


class SpeakerTime(NamedTuple):
    """Speaker time in ticks: an interval counts once for each speaker concerned."""

    reference: int
    missed_detection: int
    false_alarm: int
    confusion: int


def speaker_time(elements: Elements) -> SpeakerTime:
    """Reference time and the parts of the error, under the best one-to-one mapping of speakers.

    Source: NIST RT-09 evaluation plan, section 6.2; md-eval.
    """
    time = elements.duration[elements.in_der]
    reference = elements.reference.sizes[elements.in_der]
    hypothesis = elements.hypothesis.sizes[elements.in_der]
    correct = matched(elements)[elements.in_der]
    return SpeakerTime(
        reference=int(time @ reference),
        missed_detection=int(time @ np.maximum(reference - hypothesis, 0)),
        false_alarm=int(time @ np.maximum(hypothesis - reference, 0)),
        confusion=int(time @ (np.minimum(reference, hypothesis) - correct)),
    )


def matched(elements: Elements) -> Int64[np.ndarray, " n"]:
    """How many reference speakers of each interval have their partners in the hypothesis."""
    rows, columns = speaker_mapping(elements)
    both = elements.reference.membership[:, rows] & elements.hypothesis.membership[:, columns]
    return both.sum(axis=1, dtype=np.int64)


def speaker_mapping(
    elements: Elements,
) -> tuple[Int64[np.ndarray, " pairs"], Int64[np.ndarray, " pairs"]]:
    """Pairs of a reference and a hypothesis speaker (columns) with the greatest shared time.

    The time in collars and in skipped overlap counts here, as in md-eval (and not in
    pyannote.metrics): who is who must not depend on the protocol.
    """
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(elements.shared_time(), maximize=True)
    return rows.astype(np.int64), columns.astype(np.int64)
