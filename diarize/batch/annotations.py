"""What files tell of recordings: turns, and the corrections of a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diarize.batch.jobs import channel_of, name_of
from diarize.errors import InputError

if TYPE_CHECKING:
    from pyannote.core import Annotation

    from diarize.audio import Recording


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
    def read(
        cls, path: Path, inputs: Sequence[str], note: Callable[[str], None] = lambda _: None
    ) -> Turns:
        """Read the turns of inputs; for a single input their name does not matter.

        A channel's name does, though, and `note` is told of a name that is passed over.

        Raises:
            InputError: a file that cannot be read, or is wrong.
        """
        from diarize.formats import load_annotations

        annotations = load_annotations(path)
        if len(inputs) != 1 or len(annotations) != 1:
            return cls(path, annotations, False)
        (uri,), name = annotations, name_of(inputs[0])
        if uri != name and inputs[0] != "-":
            if channel_of(uri) == name:
                return cls(path, annotations, False)
            note(taken_for(path, uri, name))
        return cls(path, annotations, True)

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
        from diarize.activity.regions import regions_of

        return regions_of(self.of(recording.uri).get_timeline().support())


def taken_for(path: Path, uri: str, name: str) -> str:
    """What is said where the only turns of a file are taken for those of another recording."""
    return f"{path}: speaks of {uri} alone, which is taken for {name}"


def read_corrections(
    path: Path, inputs: Sequence[str], *, linked: bool, note: Callable[[str], None]
) -> Turns:
    """Read corrections, and refuse before any work is done what cannot hold.

    Args:
        path: an RTTM file or a folder of them; a speaker's field is `name`, `!name` or `ONLY:name`.
        inputs: the recordings of this run.
        linked: whether names are given across recordings, so that a number means nobody yet.
        note: told of corrections that no input is meant by.

    Raises:
        InputError: a file that cannot be read, lines that contradict each other, a line that
            cannot be used, or lines that are all of other recordings.
    """
    from diarize.corrections import Corrections
    from diarize.voices.voiceprints import ANONYMOUS

    told = Turns.read(path, inputs, note)
    for uri, annotation in told.annotations.items():
        try:
            claims = Corrections.of(annotation).claims
        except InputError as problem:
            raise InputError(f"{path}: {uri}: {problem}") from None
        for claim in claims:
            if linked and ANONYMOUS.fullmatch(claim.name):
                raise InputError(
                    f"{path}: {uri}: {claim}: with --link-speakers nobody has a number before all "
                    "recordings have been heard; give a name"
                )
    names = [name_of(source) for source in inputs]
    strange = [uri for uri in told.annotations if uri not in names and channel_of(uri) not in names]
    if strange and not told.of_all:
        if len(strange) == len(told.annotations):
            raise InputError(
                f"{path}: corrections of {', '.join(strange)}, none of {', '.join(names)}"
            )
        note(f"{path}: no input is called {', '.join(strange)}")
    return told
