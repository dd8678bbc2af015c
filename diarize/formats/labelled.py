"""Recordings with the turns of their speakers beside them: NAME.rttm beside NAME.wav, say."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyannote.core import Annotation

from diarize.audio import Recording, open_recording
from diarize.audio.suffixes import recordings_in
from diarize.errors import InputError
from diarize.formats.rttm import ENDING
from diarize.formats.table import load_annotations
from diarize.formats.turns import turns_of
from diarize.storage.files import files_in

Labelled = tuple[Recording, Annotation]


def labelled_recordings(folders: Sequence[Path]) -> list[Labelled]:
    """Open the recordings of folders with NAME.rttm beside them, sorted by name in each folder.

    Raises:
        InputError: no such folder, or turns without a recording, or with several, or not of it.
    """
    found = []
    for folder in folders:
        here = recordings_in(folder)
        for file in files_in(folder, ENDING):
            beside = [path for path in here if path.stem == file.stem]
            if len(beside) != 1:
                many = f"{len(beside)} recordings" if beside else "no recording"
                raise InputError(f"{file}: {many} of this name beside it")
            recording = open_recording(beside[0])
            turns = turns_of(load_annotations(file), recording.uri)
            if turns is None:
                raise InputError(f"{file}: no turns of {recording.uri}")
            found.append((recording, turns))
    return found
