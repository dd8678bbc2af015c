"""Progress on a terminal: a bar for each stage; nothing anywhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console


@contextmanager
def progress(prefix: str = "") -> Iterator[Callable[[str, float, float], None] | None]:
    """Give a `hook(step, done, total)` that draws bars on stderr, or None where it is no terminal.

    Args:
        prefix: stands before the name of each stage.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield None
        return
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
        console=console,
        transient=True,
    ) as bars:
        tasks = {}

        def hook(step: str, done: float, total: float) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(f"{prefix}{step}", total=total)
            bars.update(tasks[step], completed=done, total=total)

        yield hook
