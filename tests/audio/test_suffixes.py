"""Endings are one list for all that search folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from diarize.audio.suffixes import AUDIO_SUFFIXES
from diarize.batch.jobs import find_jobs
from diarize.mixing.speech import audio_files


@pytest.mark.parametrize("suffix", AUDIO_SUFFIXES)
def test_folders_are_searched_for_every_ending_in_any_case(suffix: str, tmp_path: Path) -> None:
    assert suffix == suffix.lower() and suffix.startswith(".")
    recording = tmp_path / f"meeting{suffix.upper()}"
    recording.touch()
    (tmp_path / "notes.txt").touch()
    assert audio_files(tmp_path) == [recording]
    assert [entry.source for entry in find_jobs([str(tmp_path)])] == [str(recording)]
