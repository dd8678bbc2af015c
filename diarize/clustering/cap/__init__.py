"""Compositional affinity propagation (Li, He, Whitehill, section 3).

`estimator` is the backend; `messages` is Algorithm 1, `maxima` Algorithm 2, `exemplars` what makes
a choice of exemplars better.
"""

from diarize.clustering.cap.estimator import CAP

__all__ = ["CAP"]
