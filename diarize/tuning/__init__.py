"""Search for the options of a backend, on vectors or on recordings whose truth is known."""

from __future__ import annotations

from diarize.tuning.recordings import Conversation, tune_recordings
from diarize.tuning.search import METRICS, Outcome, Tuning
from diarize.tuning.trials import Trial, tune

__all__ = [
    "METRICS",
    "Conversation",
    "Outcome",
    "Trial",
    "Tuning",
    "tune",
    "tune_recordings",
]
