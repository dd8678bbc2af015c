"""What is seen of a batch: progress, results in order, notes, and which inputs failed."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from diarize.cli.messages import error, is_silent, note
from diarize.cli.progress import board, on_terminal, progress
from diarize.errors import explain

if TYPE_CHECKING:
    from diarize.batch import Job, Result, Work


def perform(
    work: Work,
    jobs: Sequence[Job],
    failures: Failures,
    *,
    workers: int,
    dask: str | None,
    dask_wait: float,
) -> list[Result]:
    """Run a batch and say what comes of it; the results, in the order of the jobs."""
    from diarize.batch.running import durations, run
    from diarize.cli.tables import print_summary
    from diarize.formats import FORMATS

    alone = len(jobs) == 1 and dask is None  # has a bar for each stage
    seconds = None if alone or not on_terminal() else durations(jobs)
    printed = InOrder(jobs, FORMATS[work.targets.formats[0]].header)
    results: dict[Job, list[Result]] = {}
    with (
        progress() if alone else nullcontext() as stages,
        nullcontext() if alone else board(seconds or {}) as bars,
    ):

        def tell(job: Job, name: str, step: str, done: float, total: float) -> None:
            if stages is not None:
                stages(f"{name}: {step}" if work.channels == "separate" else step, done, total)
            if bars is not None:
                bars.tell(job, name, step, done, total)

        performed = run(
            work,
            jobs,
            workers=workers,
            dask=dask,
            dask_wait=dask_wait,
            hook=tell,
            note=note,
            seconds=seconds,
        )
        with closing(performed):
            for done in performed:
                printed.take(done.job, done.text)
                results[done.job] = done.results
                note(*(f"{done.job.source}: {text}" for text in done.notes))
                for result in done.results:
                    note(*result.notes)
                    if not is_silent():
                        print_summary(result.found, result.elapsed)
                with failures.of(done.job.source):
                    if done.problem is not None:
                        raise done.problem
                if bars is not None:
                    bars.finish(done.job)
    return [result for job in jobs for result in results.get(job, [])]


class InOrder:
    """Results for standard output, whose order must not depend on who is ready first.

    Each may begin with `header`, which is printed once.
    """

    def __init__(self, jobs: Sequence[Job], header: str = "") -> None:
        self._order = list(reversed(jobs))
        self._header, self._begun = header, False
        self._texts: dict[Job, str] = {}

    def take(self, job: Job, text: str) -> None:
        self._texts[job] = self._texts.get(job, "") + text
        while self._order and self._order[-1] in self._texts:
            sys.stdout.write(self._next(self._texts.pop(self._order.pop())))
        sys.stdout.flush()

    def _next(self, text: str) -> str:
        if not text:
            return ""
        lines = text.replace(self._header, "")  # the channels of a job have one each
        begin, self._begun = "" if self._begun else self._header, True
        return begin + lines


@dataclass
class Failures:
    """Lets one bad input of several not stop the others.

    Attributes:
        several: whether there are others.
        inputs: those that failed.
    """

    several: bool
    inputs: list[str] = field(default_factory=list)

    @contextmanager
    def of(self, source: str) -> Iterator[None]:
        """Say what goes wrong with an input and go on; with a single one, let it be raised."""
        try:
            yield
        except BrokenPipeError:
            raise  # nobody reads the results any more
        except Exception as problem:
            if not self.several:
                raise
            error(explain(problem)[1])
            if source not in self.inputs:
                self.inputs.append(source)

    def sum_up(self, total: int, unchanged: int) -> None:
        """Say how many of all inputs failed, and how many were left as they are."""
        if unchanged:
            note(f"{unchanged} of {total} unchanged since an earlier run (--again: hear them too)")
        if self.inputs:
            error(f"{len(self.inputs)} of {total} failed: {', '.join(self.inputs)}")
