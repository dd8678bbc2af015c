"""Print DER by the three protocols, ours and what others have published, and counts of speakers."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

PROTOCOLS = {
    "full": "no collar, overlap scored",
    "fair": "collar of 0.25 s, overlap scored",
    "forgiving": "collar of 0.25 s, overlap left out",
}
PUBLISHED = Path(__file__).with_name("published.tsv")


def main(work: Path, corpus: str, split: str, backends: list[str]) -> None:
    """Print the tables."""
    print(f"{corpus}, {split}; DER in %\n")
    print("| system |", " | ".join(f"{n} ({text})" for n, text in PROTOCOLS.items()), "|")
    print("|---|" + "---|" * len(PROTOCOLS))
    for backend in backends:
        ours = [_total(work, backend, protocol)["der"] for protocol in PROTOCOLS]
        print(f"| `{backend}` |", " | ".join(_percent(der) for der in ours), "|")
    for system, theirs in _published(corpus, split).items():
        print(f"| {system} |", " | ".join(theirs.get(name, "") for name in PROTOCOLS), "|")
    print("\n| backend | missed | false alarm | confusion | JER | count error |")
    print("|---|---|---|---|---|---|")
    for backend in backends:
        total = _total(work, backend, "full")
        parts = ("missed_detection", "false_alarm", "confusion", "jer")
        cells = [_percent(total[part]) for part in parts]
        print(f"| `{backend}` |", " | ".join(cells), f"| {total['speaker_count_error']:.2f} |")


def _total(work: Path, backend: str, protocol: str) -> dict[str, float | None]:
    total: dict[str, float | None] = json.loads(
        (work / f"{backend}.{protocol}.json").read_text(encoding="utf-8")
    )["total"]
    return total


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{100 * rate:.1f}"


def _published(corpus: str, split: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    with PUBLISHED.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if (row["corpus"], row["split"]) == (corpus, split):
                found.setdefault(row["system"], {})[row["protocol"]] = row["der"]
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
