"""Progress on a terminal: a bar for each stage; nothing anywhere else."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress(prefix: str = "") -> Iterator[Callable[[str, float, float], None] | None]:
    """Give a `hook(step, done, total)` that draws bars on stderr, or None where it is no terminal.

    Args:
        prefix: stands before the name of each stage.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        # What is printed meanwhile appears above the bars; results in a file or a pipe stay there.
        redirect_stdout=sys.stdout is not None and sys.stdout.isatty(),
    ) as bars:
        tasks = {}

        def hook(step: str, done: float, total: float) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(escape(f"{prefix}{step}"), total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield hook
