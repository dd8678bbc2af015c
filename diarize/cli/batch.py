"""All inputs of a run, one after the other, in several processes or on several machines."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Protocol

from diarize.cli.gather import Entry
from diarize.cli.manifest import Manifest, file_sha256
from diarize.cli.messages import is_silent
from diarize.cli.progress import Board, board, on_terminal, progress
from diarize.cli.results import Failures, Result
from diarize.cli.work import Done, Work
from diarize.cli.workers import Event, Progress, Workers
from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.activity.counts import Hook
    from diarize.audio import Recording


def run_batch(
    work: Work,
    entries: Sequence[Entry],
    failures: Failures,
    *,
    jobs: int = 1,
    dask: str | None = None,
    dask_wait: float = 300.0,
    manifest: Manifest | None = None,
) -> list[Result]:
    """Do the work on all inputs; what goes wrong with one of several does not stop the others.

    Args:
        work: what is done with each.
        entries: the inputs.
        failures: takes in what goes wrong.
        jobs: processes; with several the longest recordings come first.
        dask: address of a Dask cluster, which works instead of this machine; None: none does.
        dask_wait: seconds without any worker of it after which to give up.
        manifest: takes in what is finished; None: that is not written down.

    Returns:
        The results of all inputs that were heard, in the order of the inputs.
    """
    in_order: dict[Entry, list[Result]] = {}
    for done in _performed(work, entries, jobs, dask, dask_wait):
        in_order[done.entry] = done.results
        with failures.of(done.entry.source):
            if done.problem is not None:
                raise done.problem
            if manifest is not None and done.input_sha256:
                fingerprint = work.fingerprint(done.entry, done.input_sha256)
                manifest.add(done.entry.place, fingerprint, done.outputs)
    return [result for entry in entries for result in in_order.get(entry, [])]


def unfinished(work: Work, entries: Sequence[Entry], manifest: Manifest) -> list[Entry]:
    """The inputs whose results are not there as they would be made now."""

    def is_finished(entry: Entry) -> bool:
        if not manifest.knows(entry.place):
            return False
        content = file_sha256(entry.source)
        return bool(content) and manifest.holds(entry.place, work.fingerprint(entry, content))

    return [entry for entry in entries if not is_finished(entry)]


def require_dask(jobs: int) -> None:
    """Refuse to ask a cluster where that cannot be.

    Raises:
        InputError: its library is not installed, or `jobs` processes are wanted here as well.
    """
    if find_spec("distributed") is None:
        raise InputError("a Dask cluster needs distributed: pip install 'diarize-sets[dask]'")
    if jobs > 1:
        raise InputError("dask: the workers of the cluster share the work, and -j has no say")


def require_files(entries: Sequence[Entry]) -> None:
    """Refuse what only one process can read.

    Raises:
        InputError: standard input, or a pipe.
    """
    for entry in entries:
        if entry.source == "-" or (os.path.exists(entry.source) and not _is_file(entry.source)):
            name = "standard input" if entry.source == "-" else entry.source
            raise InputError(f"{name}: with -j or --dask all inputs must be files")


def _is_file(path: str) -> bool:
    return os.path.isfile(path) or os.path.isdir(path)  # a folder is refused later, in other words


class Team(Protocol):
    """Those who share the inputs of a run, be they processes or machines."""

    def work_on(self, entries: Sequence[Entry]) -> Iterator[Event]:
        """Hand out inputs in their order, and tell what comes back when it comes."""


def _performed(
    work: Work, entries: Sequence[Entry], jobs: int, dask: str | None, dask_wait: float
) -> Iterator[Done]:
    jobs = min(jobs, len(entries))
    if dask is not None and entries:
        from diarize.cli.machines import Machines

        return _shared(Machines(work, dask, dask_wait), entries)
    return _shared(Workers(work, jobs), entries) if jobs > 1 else _here(work, entries)


def _here(work: Work, entries: Sequence[Entry]) -> Iterator[Done]:
    if len(entries) == 1:
        (entry,) = entries
        channels = work.channels == "separate"
        yield work.perform(
            entry, lambda recording: progress(f"{recording.uri}: " if channels else "")
        )
        return
    with board(_seconds(entries) if on_terminal() else {}) as bars:
        for entry in entries:
            yield work.perform(entry, partial(_shown, bars, entry))
            if bars is not None:
                bars.finish(entry)


@contextmanager
def _shown(bars: Board | None, entry: Entry, recording: Recording) -> Iterator[Hook | None]:
    """The progress of a recording on a board, if there is one."""
    if bars is None:
        yield None
        return
    shown = bars

    def tell(step: str, done: float, total: float) -> None:
        shown.tell(entry, recording.uri, step, done, total)

    yield tell


def _shared(team: AbstractContextManager[Team], entries: Sequence[Entry]) -> Iterator[Done]:
    seconds = _seconds(entries)
    longest_first = sorted(entries, key=lambda entry: -seconds[entry])
    outputs = InOrder(entries)
    with team as workers, board(seconds) as bars:
        for event in workers.work_on(longest_first):
            if isinstance(event, Progress):
                if bars is not None:
                    bars.tell(event.entry, event.name, event.step, event.done, event.total)
                continue
            if not is_silent():  # what went wrong comes with what was done
                sys.stderr.write(event.err)
                sys.stderr.flush()
            outputs.take(event.done.entry, event.out)
            yield event.done
            if bars is not None:
                bars.finish(event.done.entry)


class InOrder:
    """Results for standard output, whose order must not depend on who is ready first."""

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._order = list(reversed(entries))
        self._texts: dict[Entry, str] = {}

    def take(self, entry: Entry, text: str) -> None:
        self._texts[entry] = text
        while self._order and self._order[-1] in self._texts:
            sys.stdout.write(self._texts.pop(self._order.pop()))
        sys.stdout.flush()


def _seconds(entries: Sequence[Entry]) -> dict[Entry, float]:
    """How long the recordings are, by their headers; what cannot be read is not long."""
    from diarize.audio import open_recording

    seconds = {}
    for entry in entries:
        seconds[entry] = 0.0
        if entry.source != "-" and os.path.isfile(entry.source):
            try:
                seconds[entry] = open_recording(entry.source).duration
            except (InputError, OSError):
                continue  # told when it is this input's turn
    return seconds
