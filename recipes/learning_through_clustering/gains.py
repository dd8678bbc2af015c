"""What adaptation gains: a table of WORK/CHANNEL/SPLIT/BACKEND-MODEL.json, by `diarize score`.

python gains.py WORK
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

MODELS = ("shipped", "aligned", "trained")
PARTS = ("der", "missed_detection", "false_alarm", "confusion")
HEAD = ("channel", "split", "backend", "model", "DER", "missed", "false alarm", "confusion")


def print_gains(work: Path) -> None:
    """One line for each model, in how many conversations it is better than the shipped one.

    The last column is the mean difference in the rate of a conversation, with its standard error.
    """
    print("|", " | ".join((*HEAD, "count error", "lower DER in", "difference")), "|")
    print("|" + "---|" * (len(HEAD) + 3))
    for path in sorted(work.glob("*/*/*-shipped.json")):
        channel, split, name = path.parts[-3:]
        backend = name.removesuffix("-shipped.json")
        shipped = rates(path)
        for model in MODELS:
            own = path.with_name(f"{backend}-{model}.json")
            if not own.is_file():
                continue
            total = json.loads(own.read_text())["total"]
            cells = [f"{100 * total[part]:.1f}" for part in PARTS]
            cells.append(f"{total['speaker_count_error']:.2f}")
            cells += compared(shipped, rates(own)) if model != "shipped" else ["", ""]
            print(f"| {channel} | {split} | `{backend}` | {model} |", " | ".join(cells), "|")


def rates(path: Path) -> dict[str, float]:
    """Diarization error rate of each recording."""
    return {uri: row["der"] for uri, row in json.loads(path.read_text())["files"].items()}


def compared(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """In how many recordings the rate fell, and by how much it changed in points."""
    change = 100 * np.array([after[uri] - before[uri] for uri in before])
    error = change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else 0.0
    return [f"{(change < 0).sum()} of {len(change)}", f"{change.mean():+.1f} ± {error:.1f}"]


if __name__ == "__main__":
    print_gains(Path(sys.argv[1]))
