"""Search for the options of a backend, on vectors or on recordings whose truth is known."""

from __future__ import annotations

from diarize.tuning.presets import Preset, read_preset
from diarize.tuning.recordings import Conversation, tune_recordings, tuned
from diarize.tuning.search import METRICS, Outcome, Tuning
from diarize.tuning.trials import Trial, tune

__all__ = [
    "METRICS",
    "Conversation",
    "Outcome",
    "Preset",
    "Trial",
    "Tuning",
    "read_preset",
    "tune",
    "tune_recordings",
    "tuned",
]
