"""The files of a stream's result that a server writes: what is settled so far, then the whole."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from diarize.storage.files import atomic_text
from diarize.streaming.diarizer import StreamingDiarizer

if TYPE_CHECKING:
    from pyannote.core import Annotation

SO_FAR = ".settled.rttm"  # how the name of a result ends that is not whole


@dataclass(eq=False)
class ResultFiles:
    """Writes results as RTTM, named as their streams.

    What a client was told as settled is on the disk before: a server that is killed loses nothing
    of it.

    Attributes:
        folder: where; None: nothing is kept.
    """

    folder: Path | None
    _n_settled: int = 0  # turns that are kept

    def write_settled(self, diarizer: StreamingDiarizer) -> None:
        """Write what is settled so far, where that is more than before."""
        settled = diarizer.settled
        if self.folder is None or len(settled) == self._n_settled:
            return
        _write(diarizer.final(), self.folder / f"{diarizer.uri}{SO_FAR}")
        self._n_settled = len(settled)

    def write(self, diarizer: StreamingDiarizer) -> None:
        """Write the final result in place of what was settled before; nothing where none came."""
        if self.folder is None or not diarizer.seconds:
            return
        _write(diarizer.finish(), self.folder / f"{diarizer.uri}.rttm")
        (self.folder / f"{diarizer.uri}{SO_FAR}").unlink(missing_ok=True)


def _write(annotation: Annotation, path: Path) -> None:
    from diarize.formats import rttm_text

    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_text(path, rttm_text(annotation))
