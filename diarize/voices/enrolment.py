"""Known voices: the voiceprint of each person, out of clips in which nobody else speaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from numbers import Real
from typing import Any

import numpy as np

from diarize.activity.counts import Activity
from diarize.audio import Recording, open_recording
from diarize.audio.recording import Source
from diarize.errors import InputError
from diarize.formats.lines import token
from diarize.progress import Hook
from diarize.sets import to_sphere
from diarize.voices.vectors import Voiceprints
from diarize.voices.voiceprints import ANONYMOUS

_Clip = Source | Recording


def enrol(
    diarizer: Any,
    clips: Mapping[str, _Clip | Sequence[_Clip]],
    activity: Activity | None = None,
    hook: Hook | None = None,
) -> Voiceprints:
    """Learn what people sound like.

    A clip stands for the mean of its windows of speech, a person for the mean of his clips, both
    brought back to the sphere.

    Args:
        diarizer: a `Diarizer`, whose model is used.
        clips: a recording of each person by name, or several, in which he speaks alone.
        activity: where there is speech in a clip; None: `NetworkActivity()`.
        hook: called as `hook(step, done, total)` after each person.

    Raises:
        InputError: a clip that cannot be read, or has no speech; a person without clips; a name
            that cannot stand in RTTM or is kept for strangers.
    """
    told = {name: _several(of) for name, of in clips.items()}
    for name, sources in told.items():
        require_own_name(name, name)
        if not sources:
            raise InputError(f"known {name}: at least one clip is needed")
    if not clips:
        return Voiceprints()
    listener = copy(diarizer)  # shares the model, once it is loaded
    listener.activity, listener.counts = activity, False  # one speaks
    listener.prepare()
    centroids, seconds, narrow = [], [], []
    for name, sources in told.items():
        means, heard, bands = [], 0.0, []
        for source in sources:
            clip = source if isinstance(source, Recording) else open_recording(source)
            embedded = listener.embed(clip)
            bands.append(embedded.narrow)
            vectors, heard = embedded.fine, heard + float(np.diff(embedded.cells).sum())
            if not len(vectors):
                raise InputError(f"{clip.label}: no speech in this clip of {name}")
            means.append(to_sphere(vectors.mean(axis=0, dtype=np.float64)))
        centroids.append(to_sphere(np.mean(means, axis=0)))
        seconds.append(heard)
        narrow.append(all(bands))
        if hook:
            hook("enrolment", len(centroids), len(clips))
    vectors = np.array(centroids, np.float32)
    return Voiceprints(tuple(clips), vectors, np.array(seconds), narrow=np.array(narrow))


def require_own_name(name: str, place: str) -> None:
    """Refuse a name for a person that RTTM could not hold, or that is kept for strangers.

    Raises:
        InputError: names the place.
    """
    require_name(name, place)
    if ANONYMOUS.fullmatch(name):
        raise InputError(f"known {place}: names like {name} are kept for unknown voices")


def require_name(name: str, place: str) -> None:
    """Refuse a name that an RTTM line could not hold as it is.

    Raises:
        InputError: names the place.
    """
    if not name or token(name) != name or name == token(""):
        raise InputError(f"known {place}: {name!r} cannot be a speaker's name in RTTM")


def _several(clips: Any) -> Sequence[_Clip]:
    """The clips of a person, be it one: `(samples, sample_rate)` is one as well."""
    single = not isinstance(clips, Sequence) or isinstance(clips, str)
    with_rate = not single and len(clips) == 2 and isinstance(clips[1], Real)
    return [clips] if single or with_rate else clips
