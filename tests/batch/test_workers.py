"""Processes that share the inputs of a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from diarize.audio import open_recording
from diarize.batch.jobs import Job
from diarize.batch.work import Done, Work
from diarize.batch.workers import Workers
from diarize.errors import InputError


def test_each_input_is_worked_on_once_whoever_dies(
    work: Work, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    work.diarizer.prepare()  # the model that is loaded here must not be sent
    jobs = [Job(str(write_tone(f"{name}.wav"))) for name in "abcd"]
    jobs.insert(1, Job("missing.wav"))
    said: dict[str, Done] = {}
    first = ""
    interrupt = signal.getsignal(signal.SIGINT)
    with Workers(work, 2) as workers:

        def kill(job: Job, *_: object) -> None:
            nonlocal first
            if not first:  # the process of the first one is killed while it works
                first = job.place
                (victim,) = (one for one in workers._workers if one.job == job)
                assert victim.process.pid is not None
                os.kill(victim.process.pid, signal.SIGKILL)

        for done in workers.work_on(jobs, kill):
            said[done.job.place] = done
        processes = [worker.process for worker in workers._workers]
    assert not any(process.is_alive() for process in processes)
    assert signal.getsignal(signal.SIGINT) is interrupt
    assert set(said) == {"a", "missing", "b", "c", "d"}
    problems = {name: str(one.problem) for name, one in said.items() if one.problem}
    assert set(problems) == {"missing", first}
    assert problems["missing"] == "missing.wav: no such file"
    assert problems[first].endswith("the process that worked on it was ended by SIGKILL")
    ready = sorted(set("abcd") - {first})
    assert sorted(path.stem for path in (tmp_path / "out").glob("*.rttm")) >= ready
    for name in ready:
        assert said[name].results[0].found.annotation.labels() == ["SPEAKER_00"]


def test_only_files_can_be_sent(write_tone: Callable[..., Path]) -> None:
    import pickle

    recording = pickle.loads(pickle.dumps(open_recording(write_tone("a.wav"))))
    assert sum(map(len, recording.blocks())) == 16_000
    with open(write_tone("b.wav"), "rb") as file, pytest.raises(TypeError, match="only files"):
        pickle.dumps(open_recording(file))


def test_what_cannot_be_sent_is_refused(work: Work) -> None:
    by_hand = replace(work.diarizer, activity=lambda recording, hook=None: None)
    with pytest.raises(InputError, match=r"^what is to be done cannot be sent to other processes:"):
        Workers(replace(work, diarizer=by_hand), 2)
