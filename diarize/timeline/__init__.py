"""Speakers, windows and how many were heard to turns: for recordings and streams alike."""

from diarize.activity.regions import regions_of
from diarize.timeline.decoding import Decoded, decode
from diarize.timeline.diarization import Diarization
from diarize.timeline.trellis import TimelineOptions, Trellis
from diarize.timeline.turns import Turn

__all__ = [
    "Decoded",
    "Diarization",
    "TimelineOptions",
    "Trellis",
    "Turn",
    "decode",
    "regions_of",
]
