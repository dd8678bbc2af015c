"""Who spoke when, when people also speak at the same time.

The entry point is `diarize.pipeline.Diarizer`; everything it joins can be used alone:
`diarize.clustering` clusters any unit vectors into sets, `diarize.scoring` scores any annotations.
"""

from typing import TYPE_CHECKING, Any

from diarize.storage.version import __version__

if TYPE_CHECKING:
    from diarize.pipeline import Diarizer
    from diarize.streaming import StreamingDiarizer

__all__ = ["Diarizer", "StreamingDiarizer", "__version__"]


def __getattr__(name: str) -> Any:
    # Imported when it is used: `diarize --help` needs nothing of what it stands on.
    if name == "Diarizer":
        from diarize.pipeline import Diarizer

        return Diarizer
    if name == "StreamingDiarizer":
        from diarize.streaming import StreamingDiarizer

        return StreamingDiarizer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
