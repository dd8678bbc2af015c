"""Which jobs of a run are left to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from diarize.batch import Job, Work, run, unfinished
from diarize.storage.files import file_sha256


def test_a_recording_that_cannot_be_read_stops_no_other(
    work: Work, write_tone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [Job(str(write_tone("a.wav"))), Job(str(write_tone("b.wav")))]
    assert all(done.problem is None for done in run(work, jobs))
    assert unfinished(work, jobs) == []

    def deny(path: str) -> str:  # to root nothing is forbidden
        if path == jobs[0].source:
            raise PermissionError(13, "Permission denied", path)
        return file_sha256(path)

    monkeypatch.setattr("diarize.batch.running.file_sha256", deny)
    assert unfinished(work, jobs) == [jobs[0]]
