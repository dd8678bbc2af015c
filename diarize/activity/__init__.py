"""Where there is speech, and of how many: our network, silero-vad, given regions, everything."""

from typing import TYPE_CHECKING, Any

from diarize.activity.counts import Heard, VoiceCounts
from diarize.activity.level import measure_gain
from diarize.activity.regions import clip_regions, whole
from diarize.activity.silero import SileroActivity

if TYPE_CHECKING:
    from diarize.activity.network import NetworkActivity

__all__ = [
    "Heard",
    "NetworkActivity",
    "SileroActivity",
    "VoiceCounts",
    "clip_regions",
    "measure_gain",
    "whole",
]


def __getattr__(name: str) -> Any:
    """Import the network where it is used, since torch takes its time."""
    if name == "NetworkActivity":
        from diarize.activity.network import NetworkActivity

        return NetworkActivity
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
