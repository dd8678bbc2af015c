"""The small table at the end of `diarize run`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.table import Table

from diarize.cli.tables import print_table

if TYPE_CHECKING:
    from diarize.timeline import Diarization


def print_summary(found: Diarization, elapsed: float) -> None:
    """Print speakers, seconds each, overlap, real-time factor and device to standard error.

    Args:
        found: the result.
        elapsed: seconds that it took.
    """
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
    print(annotation.uri, file=sys.stderr)
    if table.row_count:
        print_table(table, stderr=True)
    overlap = annotation.get_overlap().duration()
    share = f" ({overlap / speech:.1%} of speech)" if speech else ""
    factor = f"{elapsed / found.duration:.3f}" if found.duration else "undefined"
    print(
        f"{speech:.1f} s of speech in {found.duration:.1f} s; overlap {overlap:.1f} s{share}; "
        f"real-time factor {factor} on {found.device}",
        file=sys.stderr,
    )
