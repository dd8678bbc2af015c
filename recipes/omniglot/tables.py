"""Table 3 from the trials: tune, cluster, score and print; what is there already is kept.

python -m omniglot.tables tune|cluster|print WORK [--methods ckm gcr ...] [--sizes 150 ...]
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from omniglot.model import load_model
from omniglot.trials import LARGEST_SET, SIZES, VALIDATION_SIZE
from steps.tables import METHODS, cluster_trials, print_tables, score_trials, tune_methods

PUBLISHED = Path(__file__).with_name("published.tsv")


def main(arguments: Sequence[str]) -> None:
    """Do one stage on the way to the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("stage", choices=("tune", "cluster", "print"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--valid-size", type=int, default=VALIDATION_SIZE)
    parser.add_argument("--budget", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args(arguments)
    if a.stage == "print":
        score_trials(a.work)
        print_tables(a.work, PUBLISHED)
        return
    g = load_model(a.work / "model.pt").compose
    if a.stage == "tune":
        tune_methods(
            a.work, g, a.methods, a.seed, title="omniglot-d2", n=a.valid_size, budget=a.budget,
            processes=a.processes,
        )  # fmt: skip
    else:
        cluster_trials(
            a.work, g, a.methods, LARGEST_SET, a.sizes, a.seed, processes=a.processes
        )  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
