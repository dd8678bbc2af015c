"""Print the table of RESULTS.md out of the JSON that `diarize score` wrote."""

from __future__ import annotations

import json
import sys
from pathlib import Path

COLUMNS = (
    ("DER", "der"),
    ("missed", "missed_detection"),
    ("false alarm", "false_alarm"),
    ("confusion", "confusion"),
    ("JER", "jer"),
    ("CRI", "cri"),
)


def main(work: Path, backends: list[str]) -> None:
    """Print totals of each backend, DER by conversation, and who wins how often against `ac`."""
    scores = {name: json.loads((work / f"{name}.json").read_text()) for name in backends}
    print("| backend |", " | ".join(title for title, _ in COLUMNS), "| count error |")
    print("|---|" + "---|" * (len(COLUMNS) + 1))
    for name, score in scores.items():
        total = score["total"]
        cells = [f"{100 * total[key]:.1f}" for _, key in COLUMNS]
        print(f"| `{name}` |", " | ".join(cells), f"| {total['speaker_count_error']:.2f} |")
    print("\n| conversation |", " | ".join(f"`{name}`" for name in backends), "|")
    print("|---|" + "---|" * len(backends))
    uris = sorted(next(iter(scores.values()))["files"])
    for uri in uris:
        rates = [f"{100 * scores[name]['files'][uri]['der']:.1f}" for name in backends]
        print(f"| {uri} |", " | ".join(rates), "|")
    if "ac" in backends:
        for name in backends:
            wins = sum(
                scores[name]["files"][uri]["der"] < scores["ac"]["files"][uri]["der"]
                for uri in uris
            )
            if name not in {"ac", "oracle"}:
                print(f"\n`{name}` has a lower DER than `ac` in {wins} of {len(uris)}.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
