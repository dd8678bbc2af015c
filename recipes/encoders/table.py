"""Print what `diarize score` found with each encoder, set by set: table.py WORK RECORDINGS..."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from steps.markdown import errors, print_table

COLUMNS = {
    "DER": "der",
    "missed": "missed_detection",
    "false alarm": "false_alarm",
    "confusion": "confusion",
    "JER": "jer",
    "CRI": "cri",
}


def main(work: Path, folders: list[str]) -> None:
    """Print one table."""
    rows = []
    for name in (Path(folder).name for folder in folders):
        for path in sorted(work.glob(f"{name}-*.json")):
            total = json.loads(path.read_text())["total"]
            rows.append(
                (name, path.stem.removeprefix(f"{name}-"), *errors(total, *COLUMNS.values()))
            )
    print_table(("recordings", "encoder", *COLUMNS, "count error"), rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
