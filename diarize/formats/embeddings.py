"""Embeddings of stretches of audio, as a numpy archive."""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Float64, Shaped

from diarize.errors import InputError
from diarize.files import atomic_output


@dataclass(frozen=True)
class Embeddings:
    """The vectors of n stretches of audio, where they come from, and the model that made them.

    `start` and `end` are seconds. All but the vectors may be unknown (None) in files that other
    programs wrote.
    """

    embeddings: Float[np.ndarray, "n p"]
    path: Shaped[np.ndarray, " n"] | None = None
    start: Float64[np.ndarray, " n"] | None = None
    end: Float64[np.ndarray, " n"] | None = None
    model: str | None = None
    model_sha256: str | None = None


def write_embeddings(content: Embeddings, out: str | os.PathLike[str]) -> None:
    """Write a numpy archive: vectors as float32, text without pickle; whole or not at all.

    Raises:
        InputError: the path cannot be written to.
    """
    known: dict[str, Any] = {
        "embeddings": content.embeddings.astype(np.float32),
        "path": None if content.path is None else content.path.astype(np.str_),
        "start": content.start,
        "end": content.end,
        "model": content.model,
        "model_sha256": content.model_sha256,
    }
    with atomic_output(out) as stream:
        np.savez(stream, **{name: value for name, value in known.items() if value is not None})


def read_embeddings(path: str | os.PathLike[str]) -> Embeddings:
    """Read a numpy archive whose array `embeddings` has one row per stretch of audio.

    Raises:
        InputError: the file cannot be read, or holds no such array of finite numbers.
    """
    name = os.fspath(path)
    arrays = _read_arrays(name)
    if "embeddings" not in arrays:
        raise InputError(f"{name}: no array 'embeddings' in this file")
    vectors = arrays["embeddings"]
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        shape = " x ".join(map(str, vectors.shape))
        raise InputError(f"{name}: 'embeddings' is no table of numbers ({shape} {vectors.dtype})")
    if vectors.dtype != np.float32:
        vectors = vectors.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if bad.size:
        raise InputError(f"{name}: row {bad[0]} of 'embeddings' holds values that are not finite")
    for column in ("path", "start", "end"):
        if column in arrays and arrays[column].shape != (len(vectors),):
            raise InputError(f"{name}: '{column}' does not have one value per row of 'embeddings'")
    return Embeddings(
        embeddings=vectors,
        path=arrays.get("path"),
        start=_seconds(arrays, "start", name),
        end=_seconds(arrays, "end", name),
        model=_text(arrays, "model", name),
        model_sha256=_text(arrays, "model_sha256", name),
    )


def _read_arrays(name: str) -> dict[str, Any]:
    try:
        with open(name, "rb") as stream:
            archive = np.load(stream, allow_pickle=False)
            if isinstance(archive, np.ndarray):
                raise InputError(f"{name}: a single array, not a numpy archive (npz)")
            return {key: archive[key] for key in archive.files}
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    except InputError:
        raise
    except (ValueError, EOFError, KeyError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{name}: not a readable numpy archive (npz)") from error


def _seconds(arrays: dict[str, Any], column: str, name: str) -> Float64[np.ndarray, " n"] | None:
    if column not in arrays:
        return None
    if arrays[column].dtype.kind not in "fiu":
        raise InputError(f"{name}: '{column}' holds no numbers")
    return arrays[column].astype(np.float64)


def _text(arrays: dict[str, Any], field: str, name: str) -> str | None:
    if field not in arrays:
        return None
    if arrays[field].shape != () or arrays[field].dtype.kind != "U":
        raise InputError(f"{name}: '{field}' is no text")
    return str(arrays[field])
