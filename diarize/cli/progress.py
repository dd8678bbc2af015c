"""Progress on a terminal: a bar for each stage, or for each of many files; nothing elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from diarize.cli.messages import is_silent
from diarize.progress import Hook

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_STAGES = {
    "activity": (0.0, 0.3),
    "embedding": (0.3, 0.9),
    "clustering": (0.9, 1.0),
    "cross-talk": (0.3, 1.0),
}
"""From where to where each stage of the work on a file goes, as shares of it; roughly."""


@contextmanager
def progress() -> Iterator[Hook | None]:
    """Give a hook that draws a bar for each step on stderr, or None where it is no terminal."""
    if not on_terminal():
        yield None
        return
    from rich.markup import escape

    with _bars() as bars:
        tasks = {}

        def hook(step: str, done: float, total: float) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(escape(step), total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield hook


@dataclass
class Board:
    """A bar for all files together, with the time that is left, and one for each that is worked on.

    Attributes:
        seconds: how long each file is, by its key; the time left is counted in these.
    """

    seconds: Mapping[Any, float]
    _bars: Progress
    _overall: TaskID
    _running: dict[Any, TaskID] = field(default_factory=dict)
    _shares: dict[Any, float] = field(default_factory=dict)  # done, of each file

    def tell(self, key: Any, name: str, step: str, done: float, total: float) -> None:
        """Show how far the work on a recording of a file is."""
        from rich.markup import escape

        begin, end = _STAGES.get(step, (0.0, 1.0))
        share = begin + (end - begin) * min(done / total, 1.0) if total else begin
        if key not in self._running:
            self._running[key] = self._bars.add_task("", total=1.0)
        self._bars.update(
            self._running[key], completed=share, description=escape(f"{name}: {step}")
        )
        self._shares[key] = max(share, self._shares.get(key, 0.0))
        self._update()

    def finish(self, key: Any) -> None:
        """Take a file's bar away."""
        if key in self._running:
            self._bars.remove_task(self._running.pop(key))
        self._shares[key] = 1.0
        self._update()

    def _update(self) -> None:
        heard = sum(self.seconds[key] * share for key, share in self._shares.items())
        ready = sum(key not in self._running for key in self._shares)
        self._bars.update(
            self._overall, completed=heard, description=f"{ready} of {len(self.seconds)} files"
        )


@contextmanager
def board(seconds: Mapping[Any, float]) -> Iterator[Board | None]:
    """Give a board of files on stderr, or None where it is no terminal."""
    if not on_terminal():
        yield None
        return
    with _bars() as bars:
        overall = bars.add_task(f"0 of {len(seconds)} files", total=sum(seconds.values()))
        yield Board(seconds, bars, overall)


def on_terminal() -> bool:
    """Whether somebody looks at stderr as it is written, and wants to."""
    return sys.stderr is not None and sys.stderr.isatty() and not is_silent()


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        # What is printed meanwhile appears above the bars; results in a file or a pipe stay there.
        redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
    )
