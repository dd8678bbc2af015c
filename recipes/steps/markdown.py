"""Tables on standard output, as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def print_table(columns: Sequence[object], rows: Iterable[Iterable[object]]) -> None:
    """Print a table, each row as soon as it is known; the cells are given as text or numbers."""
    print("|", " | ".join(map(str, columns)), "|")
    print("|" + "---|" * len(columns), flush=True)
    for cells in rows:
        print("|", " | ".join(map(str, cells)), "|", flush=True)


def percent(rate: float | None) -> str:
    """A fraction of one in per cent; nothing where it is undefined."""
    return "" if rate is None else f"{100 * rate:.1f}"


def errors(total: Mapping[str, Any], *rates: str) -> list[str]:
    """Cells of these rates of a scored recording, and of how far the number of speakers is off."""
    return [*(percent(total[rate]) for rate in rates), f"{total['speaker_count_error']:.2f}"]
