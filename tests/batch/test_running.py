"""Which jobs of a run are left to do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diarize.batch import Job, Targets, Work, run, unfinished
from diarize.errors import InputError
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


def test_results_that_would_replace_each_other_are_refused(work: Work, tmp_path: Path) -> None:
    one_file = replace(work, targets=Targets(file=tmp_path / "one.rttm"))
    two = [Job("a.wav"), Job("b.wav")]
    for asked, jobs, reason in (
        (work, [Job("x/a.wav"), Job("y/a.wav")], r"^two inputs are named a, x/a\.wav and y/a\.wav"),
        (one_file, two, r"one\.rttm: is for one recording, but there are several$"),
        (replace(one_file, channels="separate"), two[:1], r"one\.rttm: is for one recording"),
    ):
        with pytest.raises(InputError, match=reason):
            next(run(asked, jobs))
    assert len(list(run(work, [Job("x/a.wav", "x"), Job("y/a.wav", "y")]))) == 2


def test_what_a_function_hears_is_never_finished(
    work: Work, write_tone: Callable[..., Path]
) -> None:
    jobs = [Job(str(write_tone("a.wav")))]
    by_hand = replace(work.diarizer, activity=lambda recording, hook=None: np.zeros((0, 2)))
    work = replace(work, diarizer=by_hand)
    assert [done.problem for done in run(work, jobs)] == [None]
    assert unfinished(work, jobs) == jobs
