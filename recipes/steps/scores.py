"""Tables of runs that grow by a line for each: what is there already is not run again."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TypeVar, get_type_hints

Score = TypeVar("Score")


def read_scores(path: Path, kind: type[Score]) -> list[Score]:
    """The lines of a table, TSV with a header, as dataclasses; none where there is no table."""
    if not path.exists():
        return []
    types = get_type_hints(kind)
    kinds = [types[field.name] for field in fields(kind)]  # type: ignore[arg-type]
    lines = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    return [kind(*(k(v) for k, v in zip(kinds, line, strict=True))) for line in lines]


def begin_scores(path: Path, kind: type[Score]) -> None:
    """Write the header of a table that is not there yet."""
    if not path.exists():
        path.write_text("\t".join(field.name for field in fields(kind)) + "\n")  # type: ignore[arg-type]
