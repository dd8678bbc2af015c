"""Labelled recordings to learn from and to judge by, and the voices that speak in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from pyannote.core import Annotation

from diarize.audio.suffixes import recordings_in
from diarize.errors import InputError
from diarize.formats.labelled import Labelled, labelled_recordings
from diarize.formats.rttm import ENDING
from diarize.mixing.voices import Voices, at_speed, spoken
from diarize.storage.files import files_in
from diarize.training.single_speaker import SingleSpeakerSpeech, seconds_of, single_speaker_spans

HELD_BACK = 3
"""Every third recording is held back, by how much single speakers say in them, from the least."""


def split_recordings(folders: Sequence[Path]) -> tuple[list[Labelled], list[Labelled]]:
    """Recordings to learn from, and those that are held back.

    Raises:
        InputError: labels that cannot be used, or no two recordings in which two speakers each say
            something alone twice, for 1.4 s or longer.
    """
    require_labels(folders)
    found = labelled_recordings(folders)
    for recording, turns in found:
        if not turns:
            raise InputError(f"{recording.label}: nobody speaks in it, by its RTTM file")
    seconds = [(identifiable_seconds(turns), number) for number, (_, turns) in enumerate(found)]
    useful = [found[number] for alone, number in sorted(seconds) if alone]
    if len(useful) < 2:
        where = ", ".join(map(str, folders))
        raise InputError(
            f"{where}: two recordings are needed in which two speakers each say enough alone, one "
            f"to learn from and one to judge by, and there {'is one' if useful else 'are none'}"
        )
    return [one for n, one in enumerate(useful) if n % HELD_BACK], useful[::HELD_BACK]


def require_labels(folders: Sequence[Path]) -> None:
    """Raise InputError for a folder that is none, is named twice, or has not RTTM for each file."""
    for number, folder in enumerate(folders):
        if folder.resolve() in (other.resolve() for other in folders[:number]):
            raise InputError(f"{folder}: named twice")
        here = recordings_in(folder)
        if not here:
            raise InputError(f"{folder}: no recordings")
        labelled = {file.stem for file in files_in(folder, ENDING)}
        for path in here:
            if path.stem not in labelled:
                raise InputError(f"{path}: no {path.stem}{ENDING} beside it")


def identifiable_seconds(turns: Annotation) -> float:
    """Seconds that speakers say alone in two stretches or more, one to know them by, one to probe.

    Zero where there are not two such speakers.
    """
    said = [seconds_of(own) for own in single_speaker_spans(turns).values() if len(own) > 1]
    return sum(said) if len(said) > 1 else 0.0


def voices_of(speech: Iterable[SingleSpeakerSpeech], speeds: Sequence[float]) -> Voices:
    """Take every speaker of every recording as a voice, whose corpus is the recording.

    A recording at another speed is another recording of other people.
    """
    stretches, speakers, recordings = [], [], []
    for number, one in enumerate(speech):
        for speaker, chunks in enumerate(one.speakers):
            said = spoken(np.concatenate(chunks))
            for speed in speeds:
                stretches.append(at_speed(said, speed))
                recordings.append(f"{number} at {speed:g}")
                speakers.append(f"{speaker} of {recordings[-1]}")
    return Voices.of(stretches, np.array(speakers), np.array(recordings))
