"""The machines of a Dask cluster that share the jobs of a run.

Dask hands out the jobs, the longest first, and gives those of a worker that is lost to another.
A worker hears a recording and sends back what it found; all files are written here. So workers must
see the recordings, under the same paths, and need no access to where results go.
"""

from __future__ import annotations

import errno
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from distributed import Client, Future, KilledWorker, get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from diarize.batch.jobs import Job
from diarize.batch.work import Done, Hook, Work
from diarize.errors import InputError, explain
from diarize.storage.cache import Cache
from diarize.storage.version import __version__

if TYPE_CHECKING:
    from distributed import Worker

PATIENCE = 10.0  # seconds in which a scheduler answers
LOOK_EVERY = 1.0  # seconds without an event after which it is asked whether there are workers
TOLD_EVERY = 1.0  # seconds between two words of a worker on how far it is


class Machines:
    """Workers of a Dask cluster; each loads the model once and hears one recording at a time.

    Args:
        work: what is done with each job.
        address: of the scheduler.
        wait: seconds without any worker, at the beginning or later, after which to give up.
        note: told when there is none at the beginning.

    Raises:
        InputError: on entering: nobody answers there, or a worker has another version of this.
        OSError: on the way: the scheduler is gone, or there was no worker for too long.
    """

    def __init__(
        self, work: Work, address: str, wait: float, note: Callable[[str], None] | None = None
    ) -> None:
        self._work, self._address, self._wait, self._note = work, address, wait, note
        self._name = f"diarize-{uuid4().hex}"  # other runs may use the cluster too
        self._events: SimpleQueue[Any] = SimpleQueue()
        self._waiting: dict[Any, tuple[Job, Future]] = {}

    def __enter__(self) -> Machines:
        for name in ("distributed", "distributed.client"):  # what it has to say is said here
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            self._client = Client(self._address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as problem:
            raise InputError(f"dask {self._address}: no scheduler answers there") from problem
        try:
            self._client.register_plugin(WorkPlugin(_portable(self._work)), self._name)
        except Exception as problem:
            self._client.close()
            raise InputError(f"dask {self._address}: {explain(problem)[1]}") from problem
        self._client.subscribe_topic(self._name, self._events.put)
        if self._note is not None and not self._client.scheduler_info()["workers"]:
            self._note(
                f"dask {self._address}: has no workers yet; they are waited for {self._wait:g} s "
                "(--dask-wait)"
            )
        return self

    def __exit__(self, *_: object) -> None:
        """Call back what nobody has begun with; what is being heard is heard to its end."""
        with suppress(OSError):  # the scheduler is gone
            if self._client.status == "running":
                self._client.cancel([future for _, future in self._waiting.values()])
                self._client.unregister_worker_plugin(self._name)
        self._client.close()

    def work_on(self, jobs: Sequence[Job], hook: Hook | None = None) -> Iterator[Done]:
        """Hand out jobs in their order; what came of each, when it is ready."""
        for rank, job in enumerate(jobs):
            sent = replace(job, source=os.path.abspath(job.source))
            key = f"{self._name}-{rank}"
            future = self._client.submit(hear, self._name, key, sent, key=key, priority=-rank)
            self._waiting[key] = job, future
            future.add_done_callback(self._events.put)
        manned = monotonic()  # when there was a worker, as far as is known
        while self._waiting:
            try:
                event = self._events.get(timeout=LOOK_EVERY)
            except Empty:
                manned = self._check_workers(manned)
                continue
            manned = monotonic()
            if isinstance(event, Future):
                job, future = self._waiting.pop(event.key)
                yield self._settled(job, future)
                continue
            _, (key, *progress) = event  # with the time of the scheduler
            if hook is not None and key in self._waiting:
                hook(self._waiting[key][0], *progress)

    def _check_workers(self, manned: float) -> float:
        """When there was a worker last; too long ago is an error."""
        now = monotonic()
        if self._client.scheduler_info()["workers"]:
            return now
        if now - manned >= self._wait:
            lost = f"no worker for {self._wait:g} s (--dask-wait); what is finished is kept"
            raise OSError(errno.ETIMEDOUT, lost, f"dask {self._address}")
        return manned

    def _settled(self, job: Job, future: Future) -> Done:
        """Write what a worker found."""
        try:
            done = future.result()
        except KilledWorker as end:
            deaths = end.allowed_failures + 1
            workers = "the worker" if deaths == 1 else f"{deaths} workers in turn"
            return Done.failed(job, f"{job.source}: {workers} that heard it died")
        except CancelledError as end:
            lost = "the scheduler is gone; what is finished is kept"
            raise OSError(errno.ECONNRESET, lost, f"dask {self._address}") from end
        except Exception as reason:
            return Done.failed(job, f"{job.source}: on the cluster: {explain(reason)[1]}")
        results = [replace(result, job=job) for result in done.results]
        done = replace(done, job=job, results=results)
        return done if self._work.linked else self._work.deliver(done)


class WorkPlugin(WorkerPlugin):
    """What a worker keeps for as long as a run lasts, the model included."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.version = __version__

    def setup(self, worker: Worker) -> None:
        """Refuse to work with another version, whose results would be others."""
        if self.version != __version__:
            raise InputError(f"{worker.address} has diarize {__version__}, not {self.version}")
        self.alone = Lock()


def hear(name: str, key: str, job: Job) -> Done:
    """Hear the recordings of a job; runs on a worker, and writes nothing."""
    worker = get_worker()
    if not job.problem and not os.path.exists(job.source):
        return Done.failed(job, f"{job.source}: no such file where {worker.address} runs")
    told: dict[tuple[str, str], float] = {}

    def tell(job: Job, recording: str, step: str, done: float, total: float) -> None:
        now = monotonic()
        if now - told.get((recording, step), -TOLD_EVERY) >= TOLD_EVERY:
            told[recording, step] = now
            worker.log_event(name, [key, recording, step, float(done), float(total)])

    hearing = worker.plugins[name]
    assert isinstance(hearing, WorkPlugin)
    with hearing.alone:
        return hearing.work.hear(job, tell).sendable()


def _portable(work: Work) -> Work:
    """The work as another machine can do it: without the model in it, and with full paths."""
    diarizer = work.diarizer
    model, cache = diarizer.model, Cache.of(diarizer.cache)
    if Path(model).is_file():
        model = os.path.abspath(model)
    if cache is not None:
        cache = Cache(Path(os.path.abspath(cache.folder)))
    return replace(work, diarizer=replace(diarizer, model=model, cache=cache))
