"""The voices of found speakers, as a numpy archive: what `diarize embed` writes, with names."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Float64

from diarize.errors import InputError
from diarize.formats.embeddings import Embeddings, read_archive
from diarize.storage.files import write_npz


@dataclass(frozen=True)
class SpeakerArchive:
    """Speakers of recordings, one row for each speaker of each recording.

    Attributes:
        voices: centroids, unit vectors, and the model that made them.
        names: whose they are.
        uris: the recording that each is heard in.
        seconds: talk time in that recording.
        linked: whether one name is one person, in whatever recording; otherwise that holds in one
            recording only.
        narrow: whether that recording has a narrow band, like a telephone's; None: none has.
    """

    voices: Embeddings
    names: tuple[str, ...]
    uris: tuple[str, ...]
    seconds: Float64[np.ndarray, " k"]
    linked: bool
    narrow: Bool[np.ndarray, " k"] | None = None


def write_speakers(path: str | os.PathLike[str], speakers: SpeakerArchive) -> None:
    """Write speakers as NPZ (no pickle), whole or not at all.

    The arrays are `embeddings` (k, p) float32, `name`, `uri`, `seconds`, `linked`, `narrow`,
    `model` and `model_sha256`.
    """
    nowhere = np.zeros(len(speakers.names), bool)
    arrays = {
        "embeddings": speakers.voices.embeddings.astype(np.float32),
        "name": np.array(speakers.names, dtype=str),
        "uri": np.array(speakers.uris, dtype=str),
        "seconds": speakers.seconds,
        "linked": np.array(speakers.linked),
        "narrow": nowhere if speakers.narrow is None else speakers.narrow,
        "model": np.array(speakers.voices.model or ""),
        "model_sha256": np.array(speakers.voices.model_sha256 or ""),
    }
    write_npz(path, arrays)


def read_speakers(path: str | os.PathLike[str]) -> SpeakerArchive:
    """Read what `write_speakers` wrote.

    Raises:
        InputError: the file cannot be read, or is none of these.
    """
    name = os.fspath(path)
    voices, arrays = read_archive(name)
    k = len(voices.embeddings)
    zero = np.flatnonzero(~voices.embeddings.any(axis=1))
    if zero.size:
        raise InputError(f"{name}: row {zero[0]} of 'embeddings' is zero, which is no voice")
    linked = arrays.get("linked", np.array(None))
    if linked.shape != () or linked.dtype.kind != "b":
        raise InputError(f"{name}: no speakers in this file (no truth value 'linked')")
    return SpeakerArchive(
        voices,
        tuple(map(str, _column(arrays, "name", "U", k, name))),
        tuple(map(str, _column(arrays, "uri", "U", k, name))),
        _column(arrays, "seconds", "f", k, name).astype(np.float64),
        bool(linked),
        _column(arrays, "narrow", "b", k, name).astype(bool) if "narrow" in arrays else None,
    )


def _column(
    arrays: Mapping[str, Any], field: str, kind: str, k: int, name: str
) -> Float[np.ndarray, " k"] | np.ndarray:
    column = arrays.get(field)
    # An array of no texts has no type of its own.
    if column is None or column.shape != (k,) or (column.dtype.kind != kind and k):
        raise InputError(f"{name}: no speakers in this file (no '{field}' of {k} rows)")
    return np.asarray(column)
