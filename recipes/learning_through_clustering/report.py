"""The tables of RESULTS.md from WORK/scores.tsv: mean and standard deviation over the seeds.

python report.py WORK
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from experiment import Score
from steps.scores import read_scores

TITLES = {
    "combination": "combination assignment", "sinkhorn-knopp": "Sinkhorn-Knopp",
    "marginal-entropy": "marginal entropy", "sum-of-squares": "sum of squares",
    "concrete-k-means": "concrete k-means", "none": "none",
}  # fmt: skip


def print_tables(scores: Sequence[Score]) -> None:
    """One table for each data set and level of imbalance."""
    for data, level in dict.fromkeys((s.data, s.level) for s in scores):
        print(f"\n{data}" + (f", imb {level}" if level else "") + "\n")
        print("| method | prior | acc | NMI | ARI | hard KL* | soft KL* | linear | KNN | runs |")
        print("|---|---|---|---|---|---|---|---|---|---|")
        for method in TITLES:
            for prior in ("matching", "even"):
                some = [
                    s for s in scores
                    if (s.data, s.level, s.method, s.prior) == (data, level, method, prior)
                ]  # fmt: skip
                if some:
                    cells = [_percent([getattr(s, name) for s in some]) for name in (
                        "acc", "nmi", "ari")]  # fmt: skip
                    cells += [_spread([getattr(s, name) for s in some], 2) for name in (
                        "hard", "soft")]  # fmt: skip
                    cells += [_percent([s.linear for s in some]), _percent([s.knn for s in some])]
                    print(f"| {TITLES[method]} | {prior} |", " | ".join(cells), f"| {len(some)} |")


def _percent(values: Sequence[float]) -> str:
    return _spread([100 * v for v in values], 1)


def _spread(values: Sequence[float], digits: int) -> str:
    return f"{np.mean(values):.{digits}f} ({np.std(values):.{digits}f})"


if __name__ == "__main__":
    print_tables(read_scores(Path(sys.argv[1]) / "scores.tsv", Score))
