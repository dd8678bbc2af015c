"""The Jaccard error rate, as in dscore."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float64

from diarize.scoring.elements import Elements


def jaccard_errors(elements: Elements) -> Float64[np.ndarray, " r"]:
    """For each reference speaker who speaks, 1 - shared time / time of either, from 0 to 1.

    Reference and hypothesis speakers are paired so that the sum is least; a reference speaker
    without a partner has error 1. Collars and skipping of overlap do not apply.

    Source: Ryant et al., "The Second DIHARD Diarization Challenge", section 4.2; dscore.
    """
    from scipy.optimize import linear_sum_assignment

    time = elements.duration
    reference = time @ elements.reference.membership
    hypothesis = time @ elements.hypothesis.membership
    shared = elements.shared_time()[reference > 0][:, hypothesis > 0]
    reference, hypothesis = reference[reference > 0], hypothesis[hypothesis > 0]
    jaccard = shared / (reference[:, None] + hypothesis - shared)
    errors = np.ones(len(reference))
    rows, columns = linear_sum_assignment(jaccard, maximize=True)
    errors[rows] -= jaccard[rows, columns]
    return errors
