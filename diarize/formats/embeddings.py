"""Embeddings of stretches of audio, as a numpy archive."""

from __future__ import annotations

import os
import zipfile
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from diarize.errors import InputError


@dataclass(frozen=True)
class Embeddings:
    """The vectors of n stretches of audio, and the model that made them, if the file names it."""

    embeddings: Float[np.ndarray, "n p"]
    model: str | None = None
    model_sha256: str | None = None


def read_embeddings(path: str | os.PathLike[str]) -> Embeddings:
    """Read a numpy archive whose array `embeddings` has one row per stretch of audio.

    Raises:
        InputError: the file cannot be read, or holds no such array of finite numbers.
    """
    return read_archive(path)[0]


def read_archive(path: str | os.PathLike[str]) -> tuple[Embeddings, dict[str, Any]]:
    """Read embeddings, and all arrays of their file by name; raises as `read_embeddings`."""
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
    model, sha256 = (_text(arrays, field, name) for field in ("model", "model_sha256"))
    return Embeddings(vectors, model, sha256), arrays


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


def _text(arrays: dict[str, Any], field: str, name: str) -> str | None:
    if field not in arrays:
        return None
    if arrays[field].shape != () or arrays[field].dtype.kind != "U":
        raise InputError(f"{name}: '{field}' is no text")
    return str(arrays[field])
