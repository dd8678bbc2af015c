"""Print DER by the three protocols, ours and what others have published, and counts of speakers."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

from steps.markdown import errors, percent, print_table

PROTOCOLS = {
    "full": "no collar, overlap scored",
    "fair": "collar of 0.25 s, overlap scored",
    "forgiving": "collar of 0.25 s, overlap left out",
}
PUBLISHED = Path(__file__).with_name("published.tsv")


def main(work: Path, corpus: str, split: str, backends: list[str]) -> None:
    """Print the tables."""
    print(f"{corpus}, {split}; DER in %\n")
    rates = [
        [f"`{backend}`", *(percent(_total(work, backend, name)["der"]) for name in PROTOCOLS)]
        for backend in backends
    ]
    for system, theirs in _published(corpus, split).items():
        rates.append([system, *(theirs.get(name, "") for name in PROTOCOLS)])
    print_table(("system", *(f"{n} ({text})" for n, text in PROTOCOLS.items())), rates)
    print()
    parts = ("missed_detection", "false_alarm", "confusion", "jer")
    totals = ((f"`{name}`", *errors(_total(work, name, "full"), *parts)) for name in backends)
    print_table(("backend", "missed", "false alarm", "confusion", "JER", "count error"), totals)


def _total(work: Path, backend: str, protocol: str) -> dict[str, float | None]:
    total: dict[str, float | None] = json.loads(
        (work / f"{backend}.{protocol}.json").read_text(encoding="utf-8")
    )["total"]
    return total


def _published(corpus: str, split: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    with PUBLISHED.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if (row["corpus"], row["split"]) == (corpus, split):
                found.setdefault(row["system"], {})[row["protocol"]] = row["der"]
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
