"""Arrays that took long to make, kept in a folder by all that they depend on."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from diarize.storage.files import write_npz
from diarize.storage.version import __version__

_SUFFIX = ".npz"


@dataclass(frozen=True)
class Cache:
    """A folder of arrays, one file for each key; NPZ without pickle.

    A file that is damaged counts as missing and is written anew. Several processes can share a
    folder. Nothing is ever removed: delete files, or the folder, as you like.

    Attributes:
        folder: made when something is put into it.
    """

    folder: str | Path

    @classmethod
    def of(cls, given: Cache | str | Path | None) -> Cache | None:
        """A cache as it is, or that of a folder; None: none."""
        return given if given is None or isinstance(given, Cache) else cls(given)

    def get(self, key: str) -> dict[str, np.ndarray] | None:
        """The arrays of a key; None: there are none."""
        try:
            # Opened here, since numpy leaves a damaged file open.
            with open(self._path(key), "rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return None

    def put(self, key: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep arrays, whole or not at all; warns where they cannot be written."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_npz(path, arrays)
        except (OSError, ValueError) as error:  # a full disk costs time, not the result
            warnings.warn(f"nothing is kept in {self.folder}: {error}", stacklevel=2)

    def kept(self, key: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """The array of a key; it is made and kept where there is none."""
        return self.kept_all(key, "values", lambda: {"values": make()})["values"]

    def kept_all(
        self, key: str, needed: str, make: Callable[[], Mapping[str, np.ndarray]]
    ) -> Mapping[str, np.ndarray]:
        """The arrays of a key; they are made and kept where that of this name is missing."""
        found: Mapping[str, np.ndarray] | None = self.get(key)
        if found is None or needed not in found:
            found = make()
            self.put(key, found)
        return found

    def size(self) -> tuple[int, int]:
        """How many files there are, and their bytes."""
        sizes = [path.stat().st_size for path in Path(self.folder).glob(f"??/*{_SUFFIX}")]
        return len(sizes), sum(sizes)

    def _path(self, key: str) -> Path:
        return Path(self.folder, key[:2], f"{key}{_SUFFIX}")


def version_of(distribution: str) -> str:
    """The version of an installed library, for keys of what it has made; "": it is not known."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def cache_key(*parts: Any) -> str:
    """Name all that something depends on, the version of the program included."""
    text = json.dumps([__version__, *parts], sort_keys=True, default=os.fspath)
    return hashlib.sha256(text.encode()).hexdigest()
