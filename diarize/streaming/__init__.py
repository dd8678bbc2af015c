"""The same stages fed block by block: who speaks, while they speak."""

from diarize.streaming.diarizer import StreamingDiarizer
from diarize.streaming.turns import Turn

__all__ = ["StreamingDiarizer", "Turn"]
