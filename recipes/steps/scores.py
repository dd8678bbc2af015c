"""Tables of runs that grow by a line for each: what is there already is not run again."""

from __future__ import annotations

from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

Score = TypeVar("Score")


def read_scores(path: Path, kind: type[Score]) -> list[Score]:
    """The lines of a table, TSV with a header, as dataclasses; none where there is no table."""
    if not path.exists():
        return []
    types = get_type_hints(kind)
    kinds = [types[field.name] for field in fields(kind)]  # type: ignore[arg-type]
    lines = [line.split("\t") for line in path.read_text().splitlines()[1:]]
    return [kind(*(k(v) for k, v in zip(kinds, line, strict=True))) for line in lines]


def add_score(path: Path, score: Any) -> None:
    """Add a line to a table, and print it; a table that is not there yet begins with a header."""
    cells = [f"{v:.4f}" if isinstance(v, float) else str(v) for v in astuple(score)]
    header = [] if path.exists() else [[field.name for field in fields(score)]]
    with path.open("a") as out:
        for line in [*header, cells]:
            print(*line, sep="\t", file=out)
    print(*cells, flush=True)
