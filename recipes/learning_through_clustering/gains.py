"""What adaptation gains: a table of WORK/CHANNEL/SPLIT/{shipped,adapted}.json, by `diarize score`.

python gains.py WORK
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

PARTS = ("der", "missed_detection", "false_alarm", "confusion")


def print_gains(work: Path) -> None:
    """One line for each model, and in how many conversations the adapted one is better."""
    names = [
        "channel",
        "split",
        "model",
        "DER",
        "missed",
        "false alarm",
        "confusion",
        "count error",
    ]
    names.append("lower DER in")
    print("|", " | ".join(names), "|")
    print("|" + "---|" * len(names))
    for path in sorted(work.glob("*/*/adapted.json")):
        channel, split = path.parts[-3:-1]
        both = [json.loads(path.with_name(f"{m}.json").read_text()) for m in ("shipped", "adapted")]
        before, after = ({uri: row["der"] for uri, row in one["files"].items()} for one in both)
        better = sum(after[uri] < before[uri] for uri in before)
        for name, one in zip(("shipped", "adapted"), both, strict=True):
            total = one["total"]
            cells = [f"{100 * total[part]:.1f}" for part in PARTS]
            cells.append(f"{total['speaker_count_error']:.2f}")
            cells.append(f"{better} of {len(before)}" if name == "adapted" else "")
            print(f"| {channel} | {split} | {name} |", " | ".join(cells), "|")


if __name__ == "__main__":
    print_gains(Path(sys.argv[1]))
