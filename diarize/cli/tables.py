"""Tables on standard output or standard error; the one at the end of `diarize run`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Column, Table

from diarize.errors import one_line

if TYPE_CHECKING:
    from diarize.timeline import Diarization

_UNBOUNDED = 10_000  # columns; a table is as wide as its content asks for


def plain(*columns: Column | str) -> Table:
    """A table whose only line is below its header."""
    return Table(*columns, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))


def print_table(table: Table, *, stderr: bool = False) -> None:
    """Print as wide as the terminal; in a file or a pipe nothing is cut, and names mean nothing."""
    # A speaker may be called [b] or :cat:, and so may a folder.
    console = Console(highlight=False, markup=False, emoji=False, stderr=stderr)
    if not console.is_terminal:
        console.width = _UNBOUNDED
    console.print(table)


def print_summary(found: Diarization, elapsed: float) -> None:
    """Print speakers, seconds each, how many there may be, overlap and speed to standard error."""
    annotation = found.annotation
    speech = annotation.get_timeline().support().duration()
    table = Table()
    table.add_column("speaker")
    table.add_column("seconds", justify="right")
    table.add_column("of speech", justify="right")
    table.add_column("turns", justify="right")
    for label in annotation.labels():
        held = annotation.label_duration(label)
        turns = len(annotation.label_timeline(label))
        table.add_row(label, f"{held:.1f}", f"{held / speech:.0%}", str(turns))
    print(one_line(str(annotation.uri)), file=sys.stderr)
    if table.row_count:
        print_table(table, stderr=True)
        print(_number(found), file=sys.stderr)
    overlap = annotation.get_overlap().duration()
    share = f" ({overlap / speech:.1%} of speech)" if speech else ""
    factor = f"{elapsed / found.duration:.3f}" if found.duration else "undefined"
    print(
        f"{speech:.1f} s of speech in {found.duration:.1f} s; overlap {overlap:.1f} s{share}; "
        f"real-time factor {factor} on {found.device}",
        file=sys.stderr,
    )


def _number(found: Diarization) -> str:
    """How many speakers there are, and may be."""
    low, high = found.possible
    n = len(found.annotation.labels())
    doubt = "" if low == high else f" ({low} to {high} possible)"
    return f"{n} speaker{'' if n == 1 else 's'}{doubt}"
