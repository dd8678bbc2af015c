"""Run the methods on data sets, one line of WORK/scores.tsv for each run; see run.sh.

    python experiment.py mixtures|convergence|density|digits|mnist --work DIR --methods NAME... ...

Seconds are the processor's. Runs that have a line already are skipped.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from steps.idx import read_idx_pair
from steps.scores import add_score, read_scores

from diarize.clustering.dpgmm import DPGMM, NIW
from diarize.storage.files import atomic_output

INITS = ("random", "kmeans", "splitnet")
BOUND = 100
"""Most components of BayesianGaussianMixture; the paper allows 1000, which takes days here."""

OVERLAP = 0.92
"""Share of rows that who knows the clusters assigns right: in all mixtures but those of figure 4,
whatever D and K. That of the example in the authors' repository (D = 2, K = 20, variance 30)."""

OVERLAPS = (0.99, 0.97, 0.95, 0.92, 0.88)
"""These shares in the experiment on density (figure 4)."""

TRIALS, TRIAL_ROWS, BISECTIONS = 8, 2000, 14
"""How the variance of the means that belongs to a share is found, between 1e-4 and 1e4."""

CLASSES = 10
"""Of digits, and of what MNIST and Fashion-MNIST show."""

Data = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Score:
    """One run: what was found in one data set of an experiment."""

    experiment: str
    dim: int
    k: int
    set: int
    method: str
    found: int
    nmi: float
    ari: float
    seconds: float


@dataclass(frozen=True)
class Mixture:
    """Clusters, drawn as the authors' code does; the means' variance is still to be chosen.

    Attributes:
        weights: ~ Dir(1), (K,).
        means: ~ N(0, I), (K, D).
        roots: of the covariances ~ IW(D + 2, I), (K, D, D).
    """

    weights: np.ndarray
    means: np.ndarray
    roots: np.ndarray

    @classmethod
    def drawn(cls, dim: int, k: int, rng: np.random.Generator) -> Mixture:
        """Draw the clusters."""
        eyes = np.broadcast_to(np.eye(dim), (k, dim, dim))
        prior = NIW(np.zeros((k, dim)), np.ones(k), eyes, np.full(k, dim + 2.0))
        roots = prior.draw(rng).roots
        return cls(rng.dirichlet(np.ones(k)), rng.standard_normal((k, dim)), roots)

    def sample(self, n: int, variance: float, rng: np.random.Generator) -> Data:
        """Draw rows, and which clusters they are of."""
        labels = rng.choice(len(self.weights), n, p=self.weights)
        noise = rng.standard_normal((n, self.means.shape[1], 1))
        return np.sqrt(variance) * self.means[labels] + (self.roots[labels] @ noise)[
            :, :, 0
        ], labels

    def assigned(self, x: np.ndarray, variance: float) -> np.ndarray:
        """The likeliest cluster of each row, the clusters being known."""
        scores = np.empty((len(x), len(self.weights)))
        for k, root in enumerate(self.roots):
            inverse = np.linalg.inv(root)
            unit = (x - np.sqrt(variance) * self.means[k]) @ inverse.T
            scores[:, k] = np.log(self.weights[k]) + np.linalg.slogdet(inverse)[1]
            scores[:, k] -= (unit**2).sum(axis=1) / 2
        return scores.argmax(axis=1)


@cache
def variance_of(dim: int, k: int, overlap: float) -> float:
    """The variance of the means at which this share of rows is assigned right, on average."""
    low, high = -4.0, 4.0
    for _ in range(BISECTIONS):
        middle, right = (low + high) / 2, 0.0
        for trial in range(TRIALS):
            rng = np.random.default_rng((dim, k, trial, 2022))
            clusters = Mixture.drawn(dim, k, rng)
            x, labels = clusters.sample(TRIAL_ROWS, 10**middle, rng)
            right += float((clusters.assigned(x, 10**middle) == labels).mean()) / TRIALS
        low, high = (middle, high) if right < overlap else (low, middle)
    return float(10 ** ((low + high) / 2))


def mixture(dim: int, k: int, n: int, seed: int, overlap: float = OVERLAP) -> Data:
    """Rows of a Gaussian mixture in which this share of rows can be assigned right."""
    rng = np.random.default_rng((dim, k, seed))
    return Mixture.drawn(dim, k, rng).sample(n, variance_of(dim, k, overlap), rng)


def digits() -> Data:
    """The digits of scikit-learn in 20 principal dimensions (section 5.2)."""
    from sklearn.datasets import load_digits

    data = load_digits()
    return PCA(20, random_state=0).fit_transform(data.data), data.target


def mnist(folder: Path) -> Data:
    """The test images of MNIST or Fashion-MNIST in 20 principal dimensions."""
    images, labels = read_idx_pair(folder, "t10k")
    rows = images.reshape(len(images), -1).astype(np.float32)
    return PCA(20, random_state=0).fit_transform(rows), labels


def cluster(method: str, x: np.ndarray, k: int, iterations: int, seed: int) -> np.ndarray:
    """Labels; only k-means and EM are told k."""
    if method in INITS:
        model = DPGMM(init=method, n_iter=iterations, burn_in=iterations, random_state=seed)
        return model.fit(x).labels_
    if method == "k-means":
        return KMeans(k, n_init=1, max_iter=iterations, random_state=seed).fit_predict(x)
    if method == "em":
        return GaussianMixture(k, max_iter=iterations, random_state=seed).fit_predict(x)
    if method == "bgm":
        return BayesianGaussianMixture(
            n_components=min(BOUND, len(x)), max_iter=iterations, random_state=seed
        ).fit_predict(x)
    raise SystemExit(f"no method {method}")


def run_all(
    args: argparse.Namespace, experiment: str, k: int, sets: Iterator[tuple[int, Data]]
) -> None:
    """Every method on every data set, unless there is a line already."""
    path = args.work / "scores.tsv"
    done = {(s.experiment, s.dim, s.k, s.set, s.method) for s in read_scores(path, Score)}
    for index, (x, truth) in sets:
        for method in args.methods:
            if (experiment, x.shape[1], k, index, method) in done:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                begin = time.process_time()
                labels = cluster(method, x, k, args.iterations, index)
                seconds = time.process_time() - begin
            nmi = normalized_mutual_info_score(truth, labels)
            ari = adjusted_rand_score(truth, labels)
            found = len(np.unique(labels))
            key = (experiment, x.shape[1], k, index, method)
            add_score(path, Score(*key, found, float(nmi), float(ari), seconds))


def trace(args: argparse.Namespace) -> None:
    """Log posteriors of ten runs of each start on one data set (figure 7), WORK/trace.npz.

    If that is there, it stays.
    """
    out = args.work / "trace.npz"
    if out.exists():
        return
    x, _ = mixture(args.dim, args.ks[0], args.rows, seed=0)
    traces: dict[str, np.ndarray] = {}
    for method in [m for m in args.methods if m in INITS]:
        runs, begin = [], time.process_time()
        for seed in range(args.sets):
            model = DPGMM(
                init=method, n_iter=args.iterations, burn_in=args.iterations, random_state=seed
            ).fit(x)
            runs.append(model.log_posterior_)
        traces[method] = np.array(runs)
        each = (time.process_time() - begin) / args.sets / args.iterations
        traces[f"{method}-seconds"] = np.array(each)  # of an iteration
    with atomic_output(out) as file:
        np.savez(file, **traces)  # type: ignore[arg-type]


def main() -> None:
    """Read the options, run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("experiment")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--methods", nargs="+", required=True)
    parser.add_argument("--dim", type=int, default=2)
    parser.add_argument("--ks", type=int, nargs="+", default=[10])
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    every = range(args.sets)
    real: dict[str, Callable[[], Data]] = {"digits": digits, "mnist": lambda: mnist(args.folder)}
    if args.experiment == "mixtures":
        for k in args.ks:
            sets = ((i, mixture(args.dim, k, args.rows, i)) for i in every)
            run_all(args, "mixtures", k, sets)
    elif args.experiment == "density":
        for overlap in OVERLAPS:
            sets = ((i, mixture(args.dim, args.ks[0], args.rows, i, overlap)) for i in every)
            run_all(args, f"density {overlap:g}", args.ks[0], sets)
    elif args.experiment == "convergence":
        trace(args)
    elif args.experiment in real:
        data = real[args.experiment]()
        run_all(args, args.experiment, CLASSES, ((i, data) for i in every))
    else:
        parser.error(f"no experiment {args.experiment}")


if __name__ == "__main__":
    main()
