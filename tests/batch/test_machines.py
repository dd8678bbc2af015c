"""The machines of a Dask cluster that share the inputs of a run."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from diarize.batch import Job, Targets, Work, run, unfinished
from diarize.batch.manifest import NAME
from diarize.errors import InputError
from diarize.storage.cache import Cache

distributed = pytest.importorskip("distributed")
machines = pytest.importorskip("diarize.batch.machines")


@pytest.fixture(autouse=True)
def _offline() -> None:
    """The scheduler and its workers are other processes of this machine."""


@dataclass
class StubWorker:
    """What a task asks of the worker that it runs on."""

    plugins: dict[str, Any] = field(default_factory=dict)
    events: list[Any] = field(default_factory=list)
    address: str = "tcp://stub"

    def log_event(self, topic: str, message: Any) -> None:
        self.events.append((topic, message))


@pytest.fixture
def worker(work: Work, monkeypatch: pytest.MonkeyPatch) -> StubWorker:
    stub = StubWorker()
    stub.plugins["run"] = machines.WorkPlugin(work)
    stub.plugins["run"].setup(stub)
    monkeypatch.setattr(machines, "get_worker", lambda: stub)
    return stub


def test_a_worker_hears_and_writes_nothing(
    worker: StubWorker, write_tone: Callable[..., Path], tmp_path: Path
) -> None:
    done = machines.hear("run", "key", Job(str(write_tone("a.wav"))))
    assert done.problem is None and done.notes == []
    assert done.results[0].found.annotation.labels() == ["SPEAKER_00"]
    assert not (tmp_path / "out").exists()
    topics, messages = zip(*worker.events, strict=True)
    assert set(topics) == {"run"}
    assert [message[:3] for message in messages] == [
        ["key", "a", "activity"], ["key", "a", "embedding"], ["key", "a", "clustering"]
    ]  # fmt: skip


def test_a_worker_says_what_it_does_not_see(worker: StubWorker) -> None:
    done = machines.hear("run", "key", Job("/elsewhere/a.wav"))
    assert str(done.problem) == "/elsewhere/a.wav: no such file where tcp://stub runs"


def test_a_bad_recording_comes_back_as_a_line(worker: StubWorker, tmp_path: Path) -> None:
    bad = tmp_path / "bad.wav"
    bad.write_text("hello\n")
    done = machines.hear("run", "key", Job(str(bad)))
    assert isinstance(done.problem, InputError)
    assert str(done.problem) == f"{bad}: is text, not a recording"


def test_another_version_is_refused(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    hearing = machines.WorkPlugin(work)
    hearing.setup(StubWorker())
    monkeypatch.setattr(machines, "__version__", "0.0")
    with pytest.raises(InputError, match=r"tcp://stub has diarize 0\.0, not "):
        hearing.setup(StubWorker())


def test_what_is_sent_has_full_paths_and_no_model(
    work: Work, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.diarizer.prepare()
    monkeypatch.chdir(Path(work.diarizer.model).parent)
    given = replace(work.diarizer, model=Path(work.diarizer.model).name, cache=Cache(Path("cache")))
    sent = machines._portable(replace(work, diarizer=given)).diarizer
    assert sent.model == str(work.diarizer.model)
    assert sent.cache == Cache(Path.cwd() / "cache")
    assert sent._loaded == {}


def test_an_input_whose_workers_die_is_told(work: Work) -> None:
    future = create_autospec(distributed.Future, instance=True)
    future.result.side_effect = distributed.KilledWorker("key", StubWorker(), 3)
    team = machines.Machines(work, "nowhere:1", 1.0)
    done = team._settled(Job("a.wav"), future)
    assert str(done.problem) == "a.wav: 4 workers in turn that heard it died"
    future.result.side_effect = CancelledError()
    with pytest.raises(OSError, match="the scheduler is gone; what is finished is kept"):
        team._settled(Job("a.wav"), future)


def test_a_scheduler_must_answer(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machines, "PATIENCE", 0.2)
    with pytest.raises(InputError, match=r"^dask 127\.0\.0\.1:9: no scheduler answers there$"):
        list(run(work, [Job("a.wav")], dask="127.0.0.1:9"))


@pytest.fixture
def cluster() -> Iterator[Any]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
    ) as made:
        yield made


def test_a_cluster_without_workers_is_given_up(
    work: Work, write_tone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "LOOK_EVERY", 0.05)
    jobs, notes = [Job(str(write_tone("a.wav")))], []
    with distributed.LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as empty:
        address = empty.scheduler_address
        with pytest.raises(OSError, match=r"no worker for 0\.2 s \(--dask-wait\); what is"):
            list(run(work, jobs, dask=address, dask_wait=0.2, note=notes.append))
    assert notes == [f"dask {address}: has no workers yet; they are waited for 0.2 s (--dask-wait)"]


def test_a_worker_is_killed_half_way_and_all_results_are_there(
    work: Work, write_tone: Callable[..., Path], cluster: Any, tmp_path: Path
) -> None:
    out, undisturbed = tmp_path / "out", tmp_path / "undisturbed"
    jobs = [Job(str(write_tone(f"{n:02}.wav", seconds=0.5 + 0.1 * n))) for n in range(24)]
    killed: list[int] = []

    def kill() -> None:
        while len(list(out.glob("*.rttm"))) < 4:
            time.sleep(0.02)
        (busy, *_) = (one for one in cluster.scheduler.workers.values() if one.processing)
        (nanny,) = (one for one in cluster.workers.values() if one.worker_address == busy.address)
        killed.append(nanny.pid)
        os.kill(nanny.pid, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    heard = list(run(work, jobs, dask=cluster.scheduler_address))
    killer.join(1.0)
    assert [str(done.problem) for done in heard if done.problem] == []
    assert (len(killed), len(heard)) == (1, 24)
    assert len(list(run(replace(work, targets=Targets(undisturbed)), jobs))) == 24
    contents = [
        {path.name: path.read_bytes() for path in place.glob("*.rttm")}
        for place in (out, undisturbed)
    ]
    assert len(contents[0]) == 24 and contents[0] == contents[1]
    assert len((out / NAME).read_bytes().splitlines()) == 24
    assert unfinished(work, jobs) == []
