"""How recordings' names end, and which recordings a folder holds."""

from __future__ import annotations

from pathlib import Path

from diarize.storage.files import files_in

AUDIO_SUFFIXES = (
    ".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".au", ".caf",
    ".rf64", ".w64", ".sph", ".m4a", ".m4b", ".mp4", ".m4v", ".mov", ".mkv", ".mka", ".webm",
    ".avi", ".aac", ".amr", ".wma", ".wv", ".ape", ".3gp",
)  # fmt: skip
"""Of what a folder is searched for; a file that is named may end in anything."""


def recordings_in(folder: Path, *, below: bool = False, besides: Path | None = None) -> list[Path]:
    """The recordings of a folder, as `diarize.storage.files.files_in` finds them."""
    return files_in(folder, AUDIO_SUFFIXES, below=below, besides=besides)
