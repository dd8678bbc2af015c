"""Print the table of RESULTS.md out of the JSON that `diarize score` wrote."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from steps.markdown import errors, percent, print_table

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
    titles, keys = zip(*COLUMNS, strict=True)
    totals = ((f"`{name}`", *errors(score["total"], *keys)) for name, score in scores.items())
    print_table(("backend", *titles, "count error"), totals)
    print()
    uris = sorted(next(iter(scores.values()))["files"])
    rates = ((uri, *(percent(scores[b]["files"][uri]["der"]) for b in backends)) for uri in uris)
    print_table(("conversation", *(f"`{name}`" for name in backends)), rates)
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
