"""All jobs of a run, one after the other, in several processes or on several machines."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from diarize.batch.jobs import Job, require_distinct
from diarize.batch.manifest import Manifest
from diarize.batch.results import name_across
from diarize.batch.work import Done, Hook, Work
from diarize.batch.workers import Workers
from diarize.errors import InputError, extra
from diarize.storage.files import file_sha256


def run(
    work: Work,
    jobs: Sequence[Job],
    *,
    workers: int = 1,
    dask: str | None = None,
    dask_wait: float = 300.0,
    hook: Hook | None = None,
    note: Callable[[str], None] | None = None,
    seconds: Mapping[Job, float] | None = None,
) -> Generator[Done]:
    """Do the work on all jobs; what goes wrong with one of them does not stop the others.

    In a folder of results, what is finished is written down for `unfinished`. Where names are
    linked, results come, and are written, when all recordings have been heard.

    Args:
        work: what is done with each.
        jobs: at most one of a name in a folder of results; at most one at all where there is one
            file for results.
        workers: processes; with several the longest recordings come first.
        dask: address of a Dask cluster, which works instead of this machine; None: none does.
        dask_wait: seconds without any worker of it after which to give up.
        hook: called as `hook(job, name of the recording, step, done, total)`.
        note: told when the cluster has no workers yet.
        seconds: how long the recordings are, as `durations` says, which else is asked.

    Yields:
        What came of each job, when it is ready; a problem stands in it.

    Raises:
        InputError: results would replace each other, there is no such cluster, or another version
            on it, or what is done cannot be sent to other processes.
        OSError: the cluster is lost on the way.
    """
    require_distinct(jobs, "their results would be one", by_place=True)
    several = sum(not job.problem for job in jobs) > 1 or work.channels == "separate"
    work.targets.require_space(several)
    manifest = Manifest(work.finished_in) if work.finished_in else None
    heard: dict[Job, Done] = {}
    for done in _performed(work, jobs, workers, dask, dask_wait, hook, note, seconds):
        if work.linked:
            heard[done.job] = replace(done, notes=[], problem=None)
            if done.problem is not None or done.notes:
                yield replace(done, results=[])
            continue
        if manifest is not None and done.problem is None and done.input_sha256:
            try:
                fingerprint = work.fingerprint(done.job, done.input_sha256)
                manifest.add(done.job.place, fingerprint, done.outputs)
            except OSError as problem:
                done = replace(done, problem=problem)
        yield done
    if work.linked:
        yield from _linked(work, [heard[job] for job in jobs if job in heard])


def altered(work: Work, jobs: Sequence[Job]) -> list[Path]:
    """The results of jobs that somebody has changed since they were written."""
    if work.finished_in is None:
        return []
    manifest = Manifest(work.finished_in)
    return [path for job in jobs for path in manifest.altered(job.place)]


def unfinished(work: Work, jobs: Sequence[Job]) -> list[Job]:
    """The jobs whose results are not there as they would be made now."""
    if work.finished_in is None:
        return list(jobs)
    manifest = Manifest(work.finished_in)

    def is_finished(job: Job) -> bool:
        if not manifest.knows(job.place):
            return False
        try:
            content = file_sha256(job.source)
        except OSError:
            return False  # told when it is this job's turn
        return bool(content) and manifest.holds(job.place, work.fingerprint(job, content))

    return [job for job in jobs if not is_finished(job)]


def durations(jobs: Sequence[Job]) -> dict[Job, float]:
    """How long the recordings are, by their headers; what cannot be read is not long."""
    from diarize.audio import open_recording

    seconds = dict.fromkeys(jobs, 0.0)
    for job in jobs:
        if job.source != "-" and os.path.isfile(job.source):
            try:
                seconds[job] = open_recording(job.source).duration
            except (InputError, OSError):
                continue  # told when it is this job's turn
    return seconds


def require_dask(workers: int) -> None:
    """Refuse to ask a cluster where that cannot be.

    Raises:
        InputError: its library is not installed, or several processes are wanted here as well.
    """
    extra("distributed", "a Dask cluster needs distributed", "dask")
    if workers > 1:
        raise InputError("dask: the workers of the cluster share the work, and -j has no say")


def _performed(
    work: Work,
    jobs: Sequence[Job],
    workers: int,
    dask: str | None,
    dask_wait: float,
    hook: Hook | None,
    note: Callable[[str], None] | None,
    seconds: Mapping[Job, float] | None,
) -> Iterator[Done]:
    team: AbstractContextManager[Any]
    if dask is not None and jobs:
        from diarize.batch.machines import Machines

        team = Machines(work, dask, dask_wait, note)
    elif min(workers, len(jobs)) > 1:
        team = Workers(work, min(workers, len(jobs)))
    else:
        for job in jobs:
            yield work.perform(job, hook)
        return
    length = durations(jobs) if seconds is None else seconds
    with team as shared:
        yield from shared.work_on(sorted(jobs, key=lambda job: -length[job]), hook)


def _linked(work: Work, heard: Sequence[Done]) -> Iterator[Done]:
    """Give each person one name in all that was heard, and write it."""
    likeness = work.diarizer.likeness
    if work.same_person is not None:
        likeness = replace(likeness, same_person=work.same_person)
    results = [result for done in heard for result in done.results]
    named = iter(name_across(results, work.known, likeness))
    for done in heard:
        if done.results:
            own = [next(named) for _ in done.results]
            yield work.deliver(replace(done, results=own))
