"""What `diarize run` reads: recordings, and the turns that files give for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diarize.errors import InputError

if TYPE_CHECKING:
    from pyannote.core import Annotation

    from diarize.audio import Recording

_CHANNEL = "_channel"  # between the name of a recording and the number of a channel of it, from 1


def name_of(source: str) -> str:
    """How the results of an input are called: its stem with white space as "_"."""
    return "stdin" if source == "-" else re.sub(r"\s", "_", Path(source).stem)


def channel_of(name: str) -> str:
    """Name of the recording of which a recording of that name is a channel; "" if it is none."""
    return name.rpartition(_CHANNEL)[0]


def open_recordings(
    source: str, channels: str, start: float | None, end: float | None
) -> Iterator[Recording]:
    """Open an input as one recording, or as one for each channel.

    Args:
        source: a path, or "-".
        channels: "separate", or else all are one recording.
        start: where to begin, seconds.
        end: where to end, seconds.

    Raises:
        InputError: not a recording that can be read.
    """
    from diarize.audio import open_recording

    recording = open_recording(source, start=start, end=end)
    if channels != "separate":
        yield recording
        return
    for number, channel in enumerate(recording.by_channel(), start=1):
        yield replace(channel, uri=f"{recording.uri}{_CHANNEL}{number}")


@dataclass(frozen=True)
class Turns:
    """The turns that an RTTM file, or a folder of them, gives for recordings.

    Attributes:
        path: the file or folder.
        annotations: the turns by name of the recording.
        of_all: whether turns of a single recording are meant, whatever its name is.
    """

    path: Path
    annotations: Mapping[str, Annotation]
    of_all: bool

    @classmethod
    def read(cls, path: Path, inputs: Sequence[str]) -> Turns:
        """Read the turns of inputs; for a single input their name does not matter.

        Raises:
            InputError: a file that cannot be read, or is wrong.
        """
        from diarize.formats import load_annotations

        annotations = load_annotations(path)
        return cls(path, annotations, len(inputs) == 1 and len(annotations) == 1)

    def of(self, name: str) -> Annotation:
        """Find the turns of a recording, or of the one that it is a channel of.

        Raises:
            InputError: there are none.
        """
        found = self.find(name)
        if found is None:
            raise InputError(f"{self.path}: no turns of {name}")
        return found

    def find(self, name: str) -> Annotation | None:
        """Find the turns of a recording as `of` does; None: there are none."""
        for known in (name, channel_of(name)):
            if known in self.annotations:
                return self.annotations[known]
        return next(iter(self.annotations.values())) if self.of_all else None

    def belonging(self, name: str) -> dict[str, Annotation]:
        """Find all that may be turns of a recording of that name, or of a channel of it."""
        return {
            known: annotation
            for known, annotation in self.annotations.items()
            if self.of_all or name in (known, channel_of(known))
        }

    def speech(self, recording: Recording, hook: Any = None) -> Any:
        """Give the regions in which somebody has a turn, as a detector of speech does."""
        from diarize.timeline import regions_of

        return regions_of(self.of(recording.uri).get_timeline().support())
