"""The file of voices that `--export-speakers` asks for."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.diarization import Diarization
    from diarize.pipeline import Diarizer


def require_export(path: Path, out: str, inputs: Sequence[str]) -> None:
    """Refuse a file of voices that could not be written, before any work is done.

    Raises:
        InputError: no .npz, a place that cannot be written, a recording, or where results go.
    """
    from diarize.cli.targets import refuse_recording
    from diarize.storage.files import require_writable

    if path.suffix != ".npz":
        raise InputError(f"export-speakers {path}: a name that ends in .npz is needed")
    if out != "-" and os.path.realpath(path) == os.path.realpath(out):
        raise InputError(f"{path}: is where the result goes, too")
    refuse_recording(path, inputs, "the voices")
    require_writable(path)


def write_voices(
    path: Path, found: Sequence[Diarization], diarizer: Diarizer, *, linked: bool
) -> None:
    """Write the voices of all speakers of some recordings.

    Args:
        path: of the file.
        found: the results, under their final names.
        diarizer: whose model was used.
        linked: whether one name is one person in all recordings.
    """
    from diarize.formats.embeddings import Embeddings
    from diarize.formats.speakers import Speakers, write_speakers

    rows = [one.voices.centroids for one in found if one.voices.names]
    model = Embeddings(
        np.concatenate(rows) if rows else np.zeros((0, 0), np.float32),
        str(diarizer.model),
        diarizer.model_sha256,
    )
    who = [(name, one.annotation) for one in found for name in one.voices.names]
    seconds = [turns.label_timeline(name).support().duration() for name, turns in who]
    write_speakers(
        path,
        Speakers(
            model,
            tuple(name for name, _ in who),
            tuple(turns.uri for _, turns in who),
            np.array(seconds, np.float64),
            linked,
        ),
    )
