"""How recordings' names end, and which recordings a folder holds."""

from __future__ import annotations

import os
from pathlib import Path

from diarize.errors import InputError

AUDIO_SUFFIXES = (
    ".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".au", ".caf",
    ".rf64", ".w64", ".sph", ".m4a", ".m4b", ".mp4", ".m4v", ".mov", ".mkv", ".mka", ".webm",
    ".avi", ".aac", ".amr", ".wma", ".wv", ".ape", ".3gp",
)  # fmt: skip
"""Of what a folder is searched for; a file that is named may end in anything."""


def recordings_in(folder: Path, *, below: bool = False, besides: Path | None = None) -> list[Path]:
    """The recordings of a folder by name, and `below`, after them, those of each folder in it.

    Hidden files and folders are passed over, and what is no file. A link that leads nowhere is
    there: whoever opens it is told so.

    Args:
        folder: where to look.
        below: whether to look into the folders in it as well, at whatever depth.
        besides: a folder that is passed over.

    Raises:
        InputError: there is no such folder, or one that cannot be entered.
    """

    def refuse(problem: OSError) -> None:
        raise InputError(f"{problem.filename}: cannot be entered ({problem.strerror})")

    if not folder.is_dir():
        raise InputError(f"{folder}: {'not a' if folder.exists() else 'no such'} folder")
    passed = None if besides is None else os.path.realpath(besides)
    found = []
    for here, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = sorted(
            name
            for name in folders
            if below and name[0] != "." and os.path.realpath(os.path.join(here, name)) != passed
        )
        for name in sorted(files):
            path = Path(here, name)
            if name[0] == "." or not name.lower().endswith(AUDIO_SUFFIXES):
                continue
            if path.is_file() or path.is_symlink():
                found.append(path)
    return found
