"""Processes that share the inputs of a run."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from diarize.activity import whole
from diarize.audio import open_recording
from diarize.cli.gather import Entry
from diarize.cli.targets import Targets
from diarize.cli.work import Work
from diarize.cli.workers import Progress, Said, Workers
from diarize.pipeline import Diarizer


@pytest.fixture
def work(tiny_weights: Path, tmp_path: Path) -> Work:
    diarizer = Diarizer(n_speakers=1, activity=whole, model=tiny_weights, device="cpu")
    diarizer.prepare()  # the model that is loaded here must not be sent
    return Work(diarizer=diarizer, targets=Targets(tmp_path / "out", None, ["rttm"]))


def test_each_input_is_worked_on_once_whoever_dies(
    work: Work, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    entries = [Entry(str(write_tone(f"{name}.wav"))) for name in "abcd"]
    entries.insert(1, Entry("missing.wav"))
    said: dict[str, Said] = {}
    first = ""
    interrupt = signal.getsignal(signal.SIGINT)
    with Workers(work, 2) as workers:
        for event in workers.work_on(entries):
            if isinstance(event, Said):
                said[event.done.entry.place] = event
            elif not first:  # the process of the first one is killed while it works
                assert isinstance(event, Progress)
                first = event.entry.place
                (victim,) = (one for one in workers._workers if one.entry == event.entry)
                assert victim.process.pid is not None
                os.kill(victim.process.pid, signal.SIGKILL)
        processes = [worker.process for worker in workers._workers]
    assert not any(process.is_alive() for process in processes)
    assert signal.getsignal(signal.SIGINT) is interrupt
    assert set(said) == {"a", "missing", "b", "c", "d"}
    problems = {name: str(one.done.problem) for name, one in said.items() if one.done.problem}
    assert set(problems) == {"missing", first}
    assert problems["missing"] == "missing.wav: no such file"
    assert problems[first].endswith("the process that worked on it was ended by SIGKILL")
    ready = sorted(set("abcd") - {first})
    assert sorted(path.stem for path in (tmp_path / "out").glob("*.rttm")) >= ready
    for name in ready:
        assert said[name].done.results[0].found.annotation.labels() == ["SPEAKER_00"]
        assert "real-time factor" in said[name].err
        assert said[name].out == ""


def test_only_files_can_be_sent(write_tone: Callable[..., Path]) -> None:
    import pickle

    recording = pickle.loads(pickle.dumps(open_recording(write_tone("a.wav"))))
    assert sum(map(len, recording.blocks())) == 16_000
    with open(write_tone("b.wav"), "rb") as file, pytest.raises(TypeError, match="only files"):
        pickle.dumps(open_recording(file))
