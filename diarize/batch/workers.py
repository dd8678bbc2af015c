"""Several processes that share the jobs of a run.

Processes, not threads: most of the work on a recording holds the interpreter (MFCC, clustering and
decoding are many small steps). benchmarks/jobs.py measures both.

A pool of the standard library is not used because the death of one process breaks all of it, and
because its processes wait for ever when the one that started them is killed. Here each process has
a pipe of its own, whose end tells either side that the other is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler

from diarize.batch.jobs import Job
from diarize.batch.work import Done, Hook, Work
from diarize.errors import InputError, one_line
from diarize.signals import raised

GRACE = 5.0  # seconds in which a process may clean up before it is killed
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

# A new interpreter everywhere: torch does not survive a fork once it has begun threads.
_CONTEXT = multiprocessing.get_context("spawn")


@dataclass
class _Worker:
    process: SpawnProcess
    pipe: Connection
    job: Job | None = None


class Workers:
    """Processes that work on jobs; each loads the model once and has one thread.

    Raises:
        InputError: what they are to do cannot be sent to them.
    """

    def __init__(self, work: Work, count: int) -> None:
        self._work = replace(work, diarizer=replace(work.diarizer))  # without the model in it
        try:
            ForkingPickler.dumps(self._work)
        except Exception as problem:  # of a lambda, an open file
            raise InputError(
                f"what is to be done cannot be sent to other processes: {one_line(str(problem))}"
            ) from problem
        self._count = count
        self._workers: list[_Worker] = []

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        """End all of them, whatever they are at; half a file is removed."""
        for worker in self._workers:
            if worker.job is not None:
                worker.process.terminate()
            worker.pipe.close()  # who waits for work goes home
        for worker in self._workers:
            worker.process.join(GRACE)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()

    def work_on(self, jobs: Sequence[Job], hook: Hook | None = None) -> Iterator[Done]:
        """Hand out jobs in their order; what came of each, when it is ready."""
        waiting = list(reversed(jobs))
        for _ in range(min(self._count, len(jobs))):
            self._workers.append(self._start(waiting.pop()))
        while busy := {one.pipe: one for one in self._workers if one.job is not None}:
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                assert worker.job is not None
                try:
                    said = worker.pipe.recv()
                except (EOFError, OSError):
                    yield _dead(worker)
                    self._workers.remove(worker)
                    if waiting:
                        self._workers.append(self._start(waiting.pop()))
                    continue
                if isinstance(said, Done):
                    worker.job = waiting.pop() if waiting else None
                    if worker.job is not None:
                        _hand(worker, worker.job)
                    yield said
                elif hook is not None:
                    hook(*said)

    def _start(self, job: Job) -> _Worker:
        own, other = _CONTEXT.Pipe()
        process = _CONTEXT.Process(target=_serve, args=(other, self._work), daemon=True)
        with _birth():
            process.start()
        other.close()
        worker = _Worker(process, own, job)
        _hand(worker, job)
        return worker


def _hand(worker: _Worker, job: Job) -> None:
    with contextlib.suppress(BrokenPipeError):  # it has died: reading from it will tell
        worker.pipe.send(job)


def _dead(worker: _Worker) -> Done:
    """What came of the job of a process that is gone."""
    worker.process.join()
    code = worker.process.exitcode or 0
    how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
    assert worker.job is not None
    why = f"{worker.job.source}: the process that worked on it {how}"
    return Done.failed(worker.job, why)


@contextmanager
def _birth() -> Iterator[None]:
    """What a new process inherits: Ctrl-C is not its business, and it has one thread."""
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    threads = {name: os.environ.get(name) for name in THREADS}
    os.environ.update(dict.fromkeys(THREADS, "1"))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, interrupt)
        for name, value in threads.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


def _serve(pipe: Connection, work: Work) -> None:
    """Work on what comes through the pipe, until nothing comes any more."""
    with raised(), contextlib.suppress(EOFError, ConnectionError):  # the one who asked is gone
        while True:
            done = work.perform(pipe.recv(), lambda *told: pipe.send(told))
            pipe.send(done.sendable())
