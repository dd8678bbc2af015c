"""Tables on standard output or standard error."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

_UNBOUNDED = 10_000  # columns; a table is as wide as its content asks for


def print_table(table: Table, *, stderr: bool = False) -> None:
    """Print as wide as the terminal; in a file or a pipe nothing is cut."""
    console = Console(highlight=False, stderr=stderr)
    if not console.is_terminal:
        console.width = _UNBOUNDED
    console.print(table)
