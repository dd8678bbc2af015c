"""Known voices, as `--known` names them: clips of people, or files of exported speakers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from diarize.activity.counts import Activity
from diarize.errors import InputError
from diarize.formats.embeddings import Embeddings
from diarize.formats.speakers import SpeakerArchive, read_speakers, write_speakers
from diarize.progress import Hook
from diarize.sets import to_sphere
from diarize.voices.enrolment import enrol, require_name, require_own_name
from diarize.voices.vectors import Voiceprints, join
from diarize.voices.voiceprints import ANONYMOUS


def learn_known(
    values: Sequence[str | os.PathLike[str]],
    diarizer: Any,
    activity: Activity | None = None,
    hook: Hook | None = None,
) -> Voiceprints:
    """Learn the voices that `--known` names.

    Args:
        values: NAME=CLIP or FILE.npz each.
        diarizer: a `Diarizer`, whose model is used.
        activity: where there is speech in a clip; None: `NetworkActivity()`.
        hook: called as `hook(step, done, total)` after each person.

    Raises:
        InputError: a value that is none of these, a clip or file that cannot be used, or a name
            that comes from two places.
    """
    texts = [os.fspath(value) for value in values]
    archives = list(dict.fromkeys(value for value in texts if _is_archive(value)))
    clips = parse_known([value for value in texts if not _is_archive(value)])
    own = diarizer.model_sha256
    sources = {path: read_voices(path, own) for path in archives}
    sources["a clip"] = enrol(diarizer, clips, activity, hook)
    origin: dict[str, str] = {}
    for source, voices in sources.items():
        for name in voices.names:
            if name in origin:
                raise InputError(f"known {name}: from {origin[name]} and from {source}, which?")
            origin[name] = source
    return replace(join(list(sources.values())), origins=None)  # a name is a person


def save_voices(voices: Voiceprints, path: str | os.PathLike[str], diarizer: Any) -> None:
    """Write voices of the model of a `Diarizer`, one file, as `--known FILE.npz` takes it.

    Raises:
        InputError: the path cannot be written to.
    """
    model = Embeddings(voices.centroids, str(diarizer.model), diarizer.model_sha256)
    nowhere = ("",) * len(voices.names)
    seconds = 1 / np.maximum(voices.scarcity, 1e-9)
    told = model, voices.names, nowhere, seconds, True, voices.narrowed
    write_speakers(path, SpeakerArchive(*told))


def _is_archive(value: str) -> bool:
    return value.endswith(".npz") and ("=" not in value or os.path.exists(value))


def parse_known(values: Sequence[str]) -> dict[str, list[str]]:
    """Clips of each name.

    Raises:
        InputError: not NAME=CLIP, a name that cannot stand in RTTM or is kept for strangers, or a
            clip of two names.
    """
    clips: dict[str, list[str]] = {}
    owners: dict[str, str] = {}  # of each file
    for value in values:
        name, equals, clip = value.partition("=")
        if not equals or not name or not clip:
            raise InputError(f"known {value}: NAME=CLIP or FILE.npz expected")
        require_own_name(name, value)
        if clip == "-":
            raise InputError(f"known {value}: a clip is a file, not standard input")
        owner = owners.setdefault(os.path.realpath(clip), name)
        if owner != name:
            raise InputError(f"known {value}: the same clip is given for {owner}")
        clips.setdefault(name, []).append(clip)
    return clips


def read_voices(path: str, model_sha256: str) -> Voiceprints:
    """Read the voices of a file that `--export-speakers` wrote; several of one name are averaged.

    Raises:
        InputError: no such file, one of another model, or one in which a name like SPEAKER_00
            stands for several people.
    """
    speakers = read_speakers(path)
    if speakers.voices.model_sha256 != model_sha256:
        raise InputError(f"{path}: voices of another model ({speakers.voices.model})")
    for n, name in enumerate(speakers.names):
        require_name(name, path)
        if not speakers.linked and ANONYMOUS.fullmatch(name) and name in speakers.names[:n]:
            raise InputError(f"{path}: {name} is somebody else in each recording")
    names = list(dict.fromkeys(speakers.names))
    if not names:
        return Voiceprints()
    rows = to_sphere(speakers.voices.embeddings.astype(np.float64))
    sums, seconds = np.zeros((len(names), rows.shape[1])), np.zeros(len(names))
    of = [names.index(name) for name in speakers.names]
    np.add.at(sums, of, rows)
    np.add.at(seconds, of, speakers.seconds)
    narrow = None
    if speakers.narrow is not None:
        narrow = np.ones(len(names), bool)  # who is never heard otherwise
        np.logical_and.at(narrow, of, speakers.narrow)
    return Voiceprints(tuple(names), to_sphere(sums).astype(np.float32), seconds, narrow=narrow)
