"""Ours beside others: the table of figures, and the pages that show it.

    python docs/comparison.py

writes the places anew that follow `<!-- comparison: NAME -->` in docs/comparison.md and the README.
Figures of docs/comparison.tsv that name a recipe, a row (its first cells) and a column are first
taken from what `recipes/all.sh` made of that recipe, with their commit. Other rows are published
figures, with their source.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
TABLE = REPOSITORY / "docs" / "comparison.tsv"
TABLES = REPOSITORY / "recipes" / "tables"
PAGES = (REPOSITORY / "README.md", REPOSITORY / "docs" / "comparison.md")
PLACE = re.compile(r"(<!-- comparison: (\w+) -->\n\n)(.*?)(\n\n|\n?\Z)", re.DOTALL)
RATE = "DER, %"
SUMMARY = """\
- Real meetings: pyannote.audio 3.1, which has heard AMI's training meetings, publishes {pyannote} %
  on its test meetings. We have five excerpts of AMI: ours, whose speaker encoder has heard no
  meeting, {meetings} %, Resemblyzer with SpectralCluster {peer_meetings} %. On four telephone calls
  they have {calls} and {peer_calls} %.
- Conversations between speakers unheard in training (with the [weights](models/README.md) of one
  split; what ships has heard more): ours {ours} %, that peer {peer} %, both in the speech regions
  of silero-vad.
- An hour takes {seconds} s on one core, and {peer_seconds} s with the peer; pyannote.audio 3.1
  publishes {gpu_seconds} s on a GPU.\
"""
TALK = "Conversations of voices that nobody has heard"
MEETINGS = "Five excerpts of AMI's meetings, 2 to 4 speakers"
CALLS = "Four telephone calls, 2 and 3 speakers"
PEER = "Resemblyzer and SpectralCluster"
NAMED = {
    "pyannote": ("Meetings of AMI, mixed headsets", "pyannote.audio 3.1"),
    "meetings": (MEETINGS, "ours"),
    "peer_meetings": (MEETINGS, PEER),
    "calls": (CALLS, "ours"),
    "peer_calls": (CALLS, PEER),
    "ours": (TALK, "ours"),
    "peer": (TALK, PEER),
    "seconds": ("An hour, one core", "ours"),
    "peer_seconds": ("An hour, one core", f"silero-vad, {PEER}"),
    "gpu_seconds": ("An hour, an NVIDIA GPU", "pyannote.audio 3.1"),
}


@dataclass(frozen=True)
class Figure:
    """One figure: of what, of which system, and where it comes from."""

    what: str
    system: str
    value: float
    unit: str
    commit: str  # of a measured one
    recipe: str  # of recipes/all.tsv, which prints a table
    row: str  # its first cells, with " / " between them
    column: str
    source: str  # of a published one


def read(path: Path = TABLE) -> list[Figure]:
    """The figures as they stand."""
    with path.open(encoding="utf-8") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return [Figure(**{**row, "value": float(row["value"])}) for row in rows]  # type: ignore[arg-type]


def write(figures: Sequence[Figure], path: Path = TABLE) -> None:
    """Write the table anew."""
    with path.open("w", encoding="utf-8") as file:
        print(*(field.name for field in fields(Figure)), sep="\t", file=file)
        for one in figures:
            print(*astuple(replace(one, value=f"{one.value:g}")), sep="\t", file=file)  # type: ignore[arg-type]


def measured(figures: Sequence[Figure], recipe: str, text: str) -> list[Figure]:
    """The figures, those of a recipe as its tables have them.

    Raises:
        ValueError: the text does not begin with its commit, or lacks a figure.
    """
    head = re.match(r"<!-- commit (\w+),", text)
    if head is None:
        raise ValueError(f"{recipe}: these are no tables of recipes/all.sh")
    return [
        replace(one, value=cell(text, one.row, one.column), commit=head[1])
        if one.recipe == recipe
        else one
        for one in figures
    ]


def cell(text: str, row: str, column: str) -> float:
    """The number in the first table that has such a row and column."""
    header: list[str] = []
    for line in text.splitlines():
        cells = [part.strip(" `") for part in line.split("|")[1:-1]]
        if not cells:
            header = []
        elif not header:
            header = cells
        elif column in header and " / ".join(cells[: row.count(" / ") + 1]) == row:
            return float(cells[header.index(column)])
    raise ValueError(f"no row {row!r} with a column {column!r}")


def filled(page: str, figures: Sequence[Figure]) -> str:
    """A page with its places written anew."""
    made = {"summary": summary(figures), "accuracy": "\n".join(rows(figures, RATE))}
    made["cost"] = "\n".join(rows(figures, "seconds", "MiB"))
    return PLACE.sub(lambda place: place[1] + made[place[2]] + place[4], page)


def summary(figures: Sequence[Figure]) -> str:
    """What the README says, the better one first."""
    named = {(one.what, one.system): number(one) for one in figures}
    return SUMMARY.format(**{key: named[place] for key, place in NAMED.items()})


def number(one: Figure) -> str:
    """A rate with a tenth, all else as whole as it is."""
    return f"{one.value:.1f}" if one.unit == RATE else f"{one.value:g}"


def rows(figures: Sequence[Figure], *units: str) -> Iterator[str]:
    """A table of the figures of some units."""
    yield "| of | system | | from |"
    yield "|---|---|---|---|"
    for one in figures:
        if one.unit in units:
            where = f"measured, commit {one.commit}"
            unit = "%" if one.unit == RATE else one.unit
            said = f"[published]({one.source})" if one.source else where
            yield f"| {one.what} | {one.system} | {number(one)} {unit} | {said} |"


def current() -> list[Figure]:
    """The figures, those of recipes whose tables are there as these have them."""
    figures = read()
    for recipe in {one.recipe for one in figures}:
        path = TABLES / f"{recipe}.md"
        if path.exists():
            figures = measured(figures, recipe, path.read_text(encoding="utf-8"))
    return figures


def main() -> None:
    """Take new figures from tables, and write the table and the pages anew."""
    figures = current()
    write(figures)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    main()
