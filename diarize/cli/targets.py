"""Where results go: a file, a folder or standard output; whole or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diarize.cli.inputs import name_of
from diarize.errors import InputError


@dataclass(frozen=True)
class Targets:
    """What `--out` and `--format` ask for.

    Attributes:
        folder: where files are named by the recording; None: one file, or standard output.
        file: the one file; None: standard output, unless there is a folder.
        formats: names of formats.
    """

    folder: Path | None
    file: Path | None
    formats: Sequence[str]

    @classmethod
    def resolve(
        cls, out: str, inputs: Sequence[str], formats: Sequence[str], *, several: bool
    ) -> Targets:
        """Decide before any work is done, and refuse what could not be written.

        Args:
            out: the option's value; "-": standard output.
            inputs: the recordings.
            formats: names of formats; one that repeats counts once.
            several: whether there may be more than one result.

        Raises:
            InputError: an unknown format, two recordings of one name, a place that cannot be
                written, or a file that is one of the recordings.
        """
        from diarize.files import require_writable
        from diarize.formats import FORMATS

        for name in formats:
            if name not in FORMATS:
                raise InputError(f"format {name}: not one of {', '.join(FORMATS)}")
        names = [name_of(source) for source in inputs]
        twice = next((name for n, name in enumerate(names) if name in names[:n]), None)
        if twice is not None:
            raise InputError(f"two inputs are named {twice}: their results would be one")
        formats = list(dict.fromkeys(formats))
        if out == "-":
            if len(formats) > 1:
                raise InputError("several formats need --out FOLDER")
            return cls(None, None, formats)
        path = Path(out)
        if several or len(formats) > 1 or path.is_dir() or out.endswith(("/", os.sep)):
            require_folder(path)
            return cls(path, None, formats)
        require_writable(path)
        refuse_recording(path, inputs, "the result")
        return cls(None, path, formats)

    def write(self, name: str, texts: Mapping[str, str]) -> None:
        """Write one result in all formats.

        Args:
            name: of the recording.
            texts: the result by name of format.
        """
        from diarize.files import atomic_output

        if self.folder is None and self.file is None:
            sys.stdout.write("".join(texts.values()))
            sys.stdout.flush()  # each result as soon as it is there
            return
        for suffix, text in texts.items():
            path = self.file or (self.folder or Path()) / f"{name}.{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_output(path, "w") as file:
                file.write(text)


def refuse_recording(path: Path, inputs: Sequence[str], content: str) -> None:
    """Refuse to write over a recording.

    Args:
        path: of the file that would be written.
        inputs: the recordings.
        content: what it would hold, for the message.

    Raises:
        InputError: the file is one of the recordings.
    """
    if path.exists() and any(os.path.exists(s) and path.samefile(s) for s in inputs):
        raise InputError(f"{path}: is the recording, which {content} would replace")


def require_folder(path: Path) -> None:
    """Refuse a folder that could not be made, or that nothing could be written into.

    Raises:
        InputError: it is a file, or it or the folder above it cannot be written.
    """
    from diarize.files import require_writable

    if path.is_dir():
        require_writable(path / ".diarize")
        return
    if path.exists():
        raise InputError(f"{path}: a file, but a folder is needed")
    while not path.parent.exists():
        path = path.parent
    require_writable(path)
