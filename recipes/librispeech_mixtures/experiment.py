"""The stages after embedding, for the g of a model: tune, cluster, print the tables."""

from __future__ import annotations

import argparse
from pathlib import Path

from steps.tables import METHODS, cluster_trials, print_tables, score_trials, tune_methods
from steps.trained import MODEL

from diarize.embedding import load_model

PUBLISHED = Path(__file__).with_name("published.tsv")


def main() -> None:
    """Do one stage."""
    parser = argparse.ArgumentParser()
    parser.add_argument("stage", choices=("tune", "cluster", "print"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--sizes", nargs="+", default=(), metavar="D:N")
    parser.add_argument("--valid-size", type=int, default=150, metavar="N")
    parser.add_argument("--budget", type=int)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    a = parser.parse_args()
    if a.stage == "print":
        score_trials(a.work)
        print_tables(a.work, PUBLISHED)
        return
    model = load_model(a.model)
    compose, scatter = model.compose, model.knowledge.scatter
    if a.stage == "tune":
        tune_methods(
            a.work, compose, a.methods, a.seed, title="librispeech-d2", n=a.valid_size,
            scatter=scatter, budget=a.budget, processes=a.processes,
        )  # fmt: skip
        return
    for size in a.sizes:
        d, n = map(int, size.split(":"))
        methods = [m for m in a.methods if d == 2 or m != "cap"]  # as in the paper's table 2
        cluster_trials(
            a.work, compose, methods, d, [n], a.seed, scatter=scatter, processes=a.processes
        )


if __name__ == "__main__":
    main()
