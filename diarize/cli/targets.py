"""Where results go: a file, a folder or standard output; whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diarize.errors import InputError


@dataclass(frozen=True)
class Targets:
    """What `--out` and `--format` ask for.

    Attributes:
        folder: where files are named by the recording's stem; None: one file, or standard output.
        file: the one file; None: standard output, unless there is a folder.
        formats: names of formats.
    """

    folder: Path | None
    file: Path | None
    formats: Sequence[str]

    @classmethod
    def resolve(cls, out: str | None, stems: Sequence[str], formats: Sequence[str]) -> Targets:
        """Decide before any work is done, and refuse what could not be written.

        Args:
            out: the option's value; None and "-": standard output.
            stems: names of all results.
            formats: names of formats.

        Raises:
            InputError: an unknown format, two results of one name, or a place that cannot be
                written.
        """
        from diarize.formats import FORMATS

        for name in formats:
            if name not in FORMATS:
                raise InputError(f"format {name}: not one of {', '.join(FORMATS)}")
        twice = next((stem for n, stem in enumerate(stems) if stem in stems[:n]), None)
        if twice is not None:
            raise InputError(f"two inputs are named {twice}: their results would be one")
        formats = list(dict.fromkeys(formats))
        if out is None or out == "-":
            if len(formats) > 1:
                raise InputError("several formats need --out FOLDER")
            return cls(None, None, formats)
        path = Path(out)
        if len(stems) > 1 or len(formats) > 1 or path.is_dir() or out.endswith(("/", os.sep)):
            _check_folder(path)
            return cls(path, None, formats)
        _check_file(path)
        return cls(None, path, formats)

    def write(self, stem: str, texts: Mapping[str, str]) -> None:
        """Write one result in all formats.

        Args:
            stem: the recording's name.
            texts: the result by name of format.
        """
        from diarize.files import atomic_output

        if self.folder is None and self.file is None:
            sys.stdout.write("".join(texts.values()))
            return
        for name, text in texts.items():
            path = self.file or (self.folder or Path()) / f"{stem}.{name}"
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_output(path, "w") as file:
                file.write(text)


def _check_folder(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: a file, but several results need a folder")
    there = path
    while not there.exists():
        there = there.parent
    if not there.is_dir() or not os.access(there, os.W_OK):
        raise InputError(f"{path}: cannot be written")


def _check_file(path: Path) -> None:
    if not path.parent.is_dir():
        raise InputError(f"{path}: its folder does not exist")
    if not os.access(path.parent, os.W_OK) or (path.exists() and not os.access(path, os.W_OK)):
        raise InputError(f"{path}: cannot be written")
