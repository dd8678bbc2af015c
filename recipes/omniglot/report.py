"""Print set accuracy on characters that were never trained on.

python -m omniglot.report DIR WORK [--episodes 1000] [--seed 0]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from omniglot.episodes import set_accuracy
from omniglot.images import split
from omniglot.model import load_model
from steps.markdown import print_table


def main(arguments: Sequence[str]) -> None:
    """One line for the characters held out, one for those to test on."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    model = load_model(given.work / "model.pt")
    _, held_out, unknown = split(given.folder)
    rows = []
    for name, drawings in (("held out", held_out), ("test", unknown)):
        a = set_accuracy(model, drawings, given.episodes, given.seed)
        figures = (a.all, a.single, a.pair, a.literal, a.mean)
        rows.append([f"{name} ({len(drawings)})", *(f"{f:.3f}" for f in figures)])
    columns = ("characters", "all", "single", "pair", "the paper's variant", "mean in place of g")
    print_table(columns, rows)


if __name__ == "__main__":
    main(sys.argv[1:])
