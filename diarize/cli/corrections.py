"""The corrections that `--corrections` gives."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.cli.inputs import Turns


def read_corrections(path: Path, inputs: Sequence[str], *, linked: bool) -> Turns:
    """Read corrections, and refuse before any work is done what cannot hold.

    Args:
        path: an RTTM file or a folder of them; a speaker's field is `name`, `!name` or `ONLY:name`.
        inputs: the recordings of this run.
        linked: whether names are given across recordings, so that a number means nobody yet.

    Raises:
        InputError: a file that cannot be read, lines that contradict each other, a line that
            cannot be used, or lines that are all of other recordings.
    """
    from diarize.cli.inputs import Turns, name_of
    from diarize.cli.messages import note
    from diarize.corrections import Corrections
    from diarize.voices.voiceprints import ANONYMOUS

    told = Turns.read(path, inputs)
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
    strange = [uri for uri in told.annotations if not _belongs(uri, inputs)]
    if strange and not told.of_all:
        if len(strange) == len(told.annotations):
            names = ", ".join(map(name_of, inputs))
            raise InputError(f"{path}: corrections of {', '.join(strange)}, none of {names}")
        note(f"{path}: no input is called {', '.join(strange)}")
    return told


def _belongs(uri: str, inputs: Sequence[str]) -> bool:
    """Whether an input is called so, or may have a channel that is."""
    from diarize.cli.inputs import channel_of, name_of

    return any(name in (uri, channel_of(uri)) for name in map(name_of, inputs))
