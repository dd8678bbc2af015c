"""What adaptation gains: a table of WORK/CHANNEL/SPLIT/BACKEND-MODEL.json, by `diarize score`.

PYTHONPATH=recipes python gains.py WORK
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from steps.markdown import errors, print_table

from diarize.scoring.report import standard_error

MODELS = ("before", "aligned")
PARTS = ("der", "missed_detection", "false_alarm", "confusion")
HEAD = ("channel", "split", "backend", "model", "DER", "missed", "false alarm", "confusion",
        "count error", "lower DER in", "difference")  # fmt: skip


def gains(work: Path) -> Iterator[list[str]]:
    """One line for each model, in how many conversations it is better than the one before.

    The last column is the mean difference in the rate of a conversation, with its standard error.
    """
    for path in sorted(work.glob("*/*/*-before.json")):
        channel, split, name = path.parts[-3:]
        backend = name.removesuffix("-before.json")
        before = rates(path)
        for model in MODELS:
            own = path.with_name(f"{backend}-{model}.json")
            if not own.is_file():
                continue
            total = json.loads(own.read_text())["total"]
            change = compared(before, rates(own)) if model != "before" else ["", ""]
            yield [channel, split, f"`{backend}`", model, *errors(total, *PARTS), *change]


def rates(path: Path) -> dict[str, float]:
    """Diarization error rate of each recording."""
    return {uri: row["der"] for uri, row in json.loads(path.read_text())["files"].items()}


def compared(before: dict[str, float], after: dict[str, float]) -> list[str]:
    """In how many recordings the rate fell, and by how much it changed in points."""
    change = 100 * np.array([after[uri] - before[uri] for uri in before])
    error = standard_error(change) if len(change) > 1 else 0.0
    return [f"{(change < 0).sum()} of {len(change)}", f"{change.mean():+.1f} ± {error:.1f}"]


if __name__ == "__main__":
    print_table(HEAD, gains(Path(sys.argv[1])))
