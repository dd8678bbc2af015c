"""Endings are one list for all that search folders."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from diarize.audio.suffixes import AUDIO_SUFFIXES, recordings_in
from diarize.batch.jobs import find_jobs
from diarize.errors import InputError
from diarize.mixing.speech import audio_files


@pytest.mark.parametrize("suffix", AUDIO_SUFFIXES)
def test_folders_are_searched_for_every_ending_in_any_case(suffix: str, tmp_path: Path) -> None:
    assert suffix == suffix.lower() and suffix.startswith(".")
    recording = tmp_path / f"meeting{suffix.upper()}"
    recording.touch()
    (tmp_path / "notes.txt").touch()
    assert audio_files(tmp_path) == [recording]
    assert [entry.source for entry in find_jobs([str(tmp_path)])] == [str(recording)]


def test_a_folder_that_cannot_be_entered_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "locked").mkdir()
    (tmp_path / "a.wav").touch()
    scandir = os.scandir

    def guarded(path: Any) -> Any:
        if os.fspath(path).endswith("locked"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", guarded)
    assert recordings_in(tmp_path) == [tmp_path / "a.wav"]
    with pytest.raises(InputError, match=r"locked: cannot be entered \(Permission denied\)"):
        recordings_in(tmp_path, below=True)
