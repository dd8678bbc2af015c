"""Train encoder and centroids by each method, a line of WORK/scores.tsv for each run; see run.sh.

    python experiment.py digits|idx|speech --work DIR --methods NAME... [--levels 0 1 2 3] ...

Runs that have a line already are skipped.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from data import WIDTH, Data, digits, idx, speech
from divergence import hard_divergence, soft_divergence
from online import OnlineClustering, squared
from regularisers import REGULARISERS, memberships
from scipy.optimize import linear_sum_assignment
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from steps.scores import add_score, read_scores
from torch.nn.functional import mse_loss

BATCH = 256
SIGMA = 100.0
"""The paper's variance of a cluster, for encodings of any length."""

RECONSTRUCTION = 10.0
"""Weight of the autoencoder's mean squared error beside concrete k-means."""


@dataclass(frozen=True)
class Score:
    """One run; rates between 0 and 1, divergences in nats."""

    data: str
    level: int  # of imbalance
    prior: str
    method: str
    seed: int
    acc: float
    nmi: float
    ari: float
    hard: float
    soft: float
    linear: float
    knn: float


def train(data: Data, method: str, prior: np.ndarray | None, epochs: int, seed: int) -> Score:
    """Train with one method, and measure what came of it."""
    torch.manual_seed(seed)
    k = int(data.y.max()) + 1
    encoder, decoder = data.encoder(), data.decoder()
    concrete = method == "concrete-k-means"
    model = OnlineClustering(
        encoder,
        torch.randn(k, WIDTH),
        sigma=SIGMA,
        prior=prior,
        regulariser=REGULARISERS[method],
        parameters=[*encoder.parameters(), *(decoder.parameters() if concrete else ())],
        seed=seed,
    )
    for _ in range(epochs):
        for rows in torch.randperm(len(data.x)).split(BATCH):
            x = data.x[rows]
            if concrete:  # Gao et al. cluster the code of an autoencoder
                code = encoder(x)
                model.step(model.loss(code[None]) + RECONSTRUCTION * mse_loss(decoder(code), x))
            else:
                model.advance(x)
    with torch.no_grad():
        parts = [encoder(part) for part in data.x.split(4096)]
        codes = torch.cat(parts)
        soft = memberships(squared(codes[None], model.centroids)[0].double(), SIGMA).numpy()
    found = soft.argmax(axis=1)
    return Score(
        "", 0, "", method, seed,
        acc=accuracy(found, data.y, k),
        nmi=float(normalized_mutual_info_score(data.y, found)),
        ari=float(adjusted_rand_score(data.y, found)),
        hard=hard_divergence(soft, data.y),
        soft=soft_divergence(soft, data.y),
        **probes(codes.numpy(), data.y),
    )  # fmt: skip


def accuracy(found: np.ndarray, truth: np.ndarray, k: int) -> float:
    """Share of rows whose cluster is matched to their class, by the best matching."""
    table = np.zeros((k, k))
    np.add.at(table, (found, truth), 1)
    return float(table[linear_sum_assignment(-table)].sum() / len(truth))


def probes(codes: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Accuracy on half of the rows of a linear and a nearest-neighbour model of the other half."""
    split = train_test_split(codes, truth, test_size=0.5, stratify=truth, random_state=0)
    seen, unseen, y_seen, y_unseen = (part[:10_000] for part in split)
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
    neighbours = KNeighborsClassifier(min(10, len(seen)))
    return {
        name: float(probe.fit(seen, y_seen).score(unseen, y_unseen))
        for name, probe in (("linear", linear), ("knn", neighbours))
    }


def run(args: argparse.Namespace, name: str, data: Data) -> None:
    """All methods at all levels; ours, at an imbalanced level, with an even prior too."""
    path = args.work / "scores.tsv"
    done = {(s.data, s.level, s.prior, s.method, s.seed) for s in read_scores(path, Score)}
    for level in args.levels:
        some = data.imbalanced(level)
        shares = np.bincount(some.y) / len(some.y)
        for method in args.methods:
            priors = {"matching": shares, "even": None}
            if not (level or name.startswith("speech")):
                del priors["matching"]
            elif method != "combination":
                del priors["even"]
            for prior, weights in priors.items():
                for seed in range(args.seeds):
                    if (name, level, prior, method, seed) in done:
                        continue
                    score = train(some, method, weights, args.epochs, seed)
                    add_score(path, replace(score, data=name, level=level, prior=prior))


def main() -> None:
    """Read the options, run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", choices=("digits", "idx", "speech"))
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--methods", nargs="+", default=list(REGULARISERS))
    parser.add_argument("--levels", type=int, nargs="+", default=[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=40)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--split", default="dev-b")
    args = parser.parse_args()
    if args.data == "digits":
        run(args, "digits", digits())
    elif args.data == "idx":
        run(args, args.folder.name, idx(args.folder))
    else:
        run(args, f"speech {args.split}", speech(args.folder, args.split))


if __name__ == "__main__":
    main()
