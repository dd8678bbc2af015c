"""Where there is speech: silero-vad behind an adapter, or everything."""

from diarize.activity.level import measure_level
from diarize.activity.regions import clip_regions, whole
from diarize.activity.silero import SileroActivity

__all__ = ["SileroActivity", "clip_regions", "measure_level", "whole"]
