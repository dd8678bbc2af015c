"""The recipe that compares live diarization with hindsight."""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

import pytest
import soundfile

from diarize.formats import read_rttm


@pytest.fixture(scope="module")
def folder(repo_root: Path) -> Path:
    return repo_root / "recipes" / "streaming"


def test_what_is_written(
    folder: Path, talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples, rate = soundfile.read(talk, dtype="int16")
    soundfile.write(tmp_path / "talk.flac", samples[: 6 * rate], rate)
    out = tmp_path / "out"
    for options, names in (
        (["--latency", "1"], {"live-1", "live-1-said", "live-1-alone", "settled-1"}),
        (["--latency", "2", "--refine", "5"], {"live-2-5", "settled-2-5"}),
    ):
        arguments = ["stream.py", str(tmp_path), str(out), *options]
        monkeypatch.setattr(sys, "argv", arguments)
        runpy.run_path(str(folder / "stream.py"), run_name="__main__")
        for name in names:
            assert read_rttm(out / name / "talk.rttm")["talk"].labels(), name
    assert len(os.listdir(out)) == 6
