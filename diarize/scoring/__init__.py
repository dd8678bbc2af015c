"""How good a diarization is: DER with its parts, JER, CRI, ARI, ids, the speaker-count error."""

from __future__ import annotations

from diarize.scoring.ari import adjusted_rand_index
from diarize.scoring.cri import compositional_rand_index
from diarize.scoring.online import conflation, fracture, hungarian_accuracy, id_cost
from diarize.scoring.report import Report, Scores, score_files

__all__ = [
    "Report",
    "Scores",
    "adjusted_rand_index",
    "compositional_rand_index",
    "conflation",
    "fracture",
    "hungarian_accuracy",
    "id_cost",
    "score_files",
]
