"""The tables of RESULTS.md from WORK/scores.tsv: mean and standard deviation over the seeds.

python report.py WORK
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from experiment import Score
from steps.markdown import print_table
from steps.scores import read_scores

TITLES = {
    "combination": "combination assignment", "sinkhorn-knopp": "Sinkhorn-Knopp",
    "marginal-entropy": "marginal entropy", "sum-of-squares": "sum of squares",
    "concrete-k-means": "concrete k-means", "none": "none",
}  # fmt: skip
MEASURES = ("acc", "nmi", "ari", "hard", "soft", "linear", "knn")
COLUMNS = ("method", "prior", "acc", "NMI", "ARI", "hard KL*", "soft KL*", "linear", "KNN", "runs")


def print_tables(scores: Sequence[Score]) -> None:
    """One table for each data set and level of imbalance."""
    for data, level in dict.fromkeys((s.data, s.level) for s in scores):
        print(f"\n{data}" + (f", imb {level}" if level else "") + "\n")
        print_table(COLUMNS, _rows([s for s in scores if (s.data, s.level) == (data, level)]))


def _rows(scores: Sequence[Score]) -> Iterator[list[object]]:
    for method in TITLES:
        for prior in ("matching", "even"):
            some = [s for s in scores if (s.method, s.prior) == (method, prior)]
            if some:
                cells = [_spread(some, name) for name in MEASURES]
                yield [TITLES[method], prior, *cells, len(some)]


def _spread(scores: Sequence[Score], name: str) -> str:
    scale, digits = (1, 2) if name in ("hard", "soft") else (100, 1)  # nats, or per cent
    values = [scale * getattr(score, name) for score in scores]
    return f"{np.mean(values):.{digits}f} ({np.std(values):.{digits}f})"


if __name__ == "__main__":
    print_tables(read_scores(Path(sys.argv[1]) / "scores.tsv", Score))
