"""The Dirichlet-process sampler against scikit-learn's variational mixture, and how it grows.

    OMP_NUM_THREADS=1 python benchmarks/dpgmm.py

First 10 000 to 1 000 000 rows in 2 dimensions, each number in a process of its own: time of an
iteration and peak memory. Then 20 000 rows of 20 clusters in 2 and in 10 dimensions, 200 iterations
of `DPGMM` by each start that looks at the data, against BayesianGaussianMixture with at most 100
and 1000 components. That ends when its bound stands still; here it may not, as in the paper, where
all methods run for 200 iterations. `--peer-iterations 20` stops it after 20 (all of them take half
an hour of a processor with 1000 components) and scales its time up.

Seconds are processor time of a single thread, so that a busy machine makes little difference.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from scipy.stats import invwishart
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import BayesianGaussianMixture

from diarize.clustering.dpgmm import DPGMM

ROWS, CLUSTERS, ITERATIONS = 20_000, 20, 200
DIMENSIONS, BOUNDS, STARTS = (2, 10), (100, 1000), ("kmeans", "splitnet")
LIMITS = {100: 5, 1000: 50}
"""How many times faster the sampler has to be, by the bound on components."""

VARIANCE = 30.0
"""Of the clusters' means, as in the example of the authors' repository."""

GROWTH, GROWTH_ITERATIONS = (10_000, 100_000, 1_000_000), 20
MIB = 2**20

Data = tuple[np.ndarray, np.ndarray]


def mixture(n: int, dim: int, seed: int = 0) -> Data:
    """Rows and their clusters, drawn as the authors do: weights ~ Dir(1), IW(D + 2)."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(CLUSTERS, n, p=rng.dirichlet(np.ones(CLUSTERS)))
    means = np.sqrt(VARIANCE) * rng.standard_normal((CLUSTERS, dim))
    covariances = invwishart(dim + 2, np.eye(dim)).rvs(CLUSTERS, random_state=rng)
    rows = rng.standard_normal((n, dim))
    for k, root in enumerate(np.linalg.cholesky(covariances)):
        rows[labels == k] = means[k] + rows[labels == k] @ root.T
    return rows, labels


def timed(work: Callable[[], np.ndarray], truth: np.ndarray) -> tuple[float, float, int]:
    """Processor time, ARI and number of clusters of what labels rows."""
    begin = time.process_time()
    labels = work()
    seconds = time.process_time() - begin
    return seconds, float(adjusted_rand_score(truth, labels)), len(np.unique(labels))


def ours(x: np.ndarray, start: str) -> np.ndarray:
    """Labels by the sampler, all iterations of which search."""
    model = DPGMM(init=start, n_iter=ITERATIONS, burn_in=ITERATIONS, random_state=0)
    return model.fit(x).labels_


def peers(x: np.ndarray, bound: int, iterations: int) -> np.ndarray:
    """Labels by the variational mixture."""
    model = BayesianGaussianMixture(
        n_components=bound, max_iter=iterations, tol=0.0, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it may not stop
        return np.asarray(model.fit(x).predict(x))


def compare(dim: int, iterations: int) -> None:
    """Print seconds, ARI and ratios in `dim` dimensions."""
    x, truth = mixture(ROWS, dim)
    DPGMM(init="splitnet", n_iter=1).fit(x[:500])  # what is loaded once
    found = {start: timed(functools.partial(ours, x, start), truth) for start in STARTS}
    for start, (seconds, ari, k) in found.items():
        print(f"{dim:3}  {'SubC-' + start:16}{k:5}{seconds:10.1f}{ari:8.3f}", flush=True)
    for bound in BOUNDS:
        seconds, ari, k = timed(functools.partial(peers, x, bound, iterations), truth)
        seconds *= ITERATIONS / iterations
        ratios = "".join(f"{seconds / found[start][0]:10.0f}" for start in STARTS)
        print(
            f"{dim:3}  {f'BGM, {bound} at most':16}{k:5}{seconds:10.1f}{ari:8.3f}{ratios}"
            f"{LIMITS[bound]:8}",
            flush=True,
        )


def grow(n: int) -> float:
    """Processor time of an iteration on n rows."""
    x, _ = mixture(n, 2)
    begin = time.process_time()
    DPGMM(n_iter=GROWTH_ITERATIONS, burn_in=GROWTH_ITERATIONS, random_state=0).fit(x)
    return (time.process_time() - begin) / GROWTH_ITERATIONS


def grown(n: int) -> tuple[float, int]:
    """The same and peak resident bytes, of a process of its own."""
    command = [sys.executable, __file__, "--grow", str(n)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)  # the usage of this child alone
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        sys.exit(f"{' '.join(command)}: exit code {child.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return float(json.loads(output)), usage.ru_maxrss * unit


def main() -> None:
    """Print how time and memory grow, then the ratios."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peer-iterations", type=int, default=ITERATIONS)
    parser.add_argument("--grow", type=int, help="rows; prints the seconds of an iteration alone")
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.grow:
        print(json.dumps(grow(given.grow)))
        return
    print(f"{'rows':>9}{'ms an iteration':>17}{'ns a row':>10}{'peak MiB':>10}")
    for n in GROWTH:  # first: a child counts its parent's memory until it runs
        seconds, memory = grown(n)
        print(
            f"{n:9}{1e3 * seconds:17.1f}{1e9 * seconds / n:10.0f}{memory / MIB:10.0f}", flush=True
        )
    print(f"\n{ROWS} rows, {CLUSTERS} clusters, {ITERATIONS} iterations; processor time")
    names = "".join(f"{'/ ' + start:>10}" for start in STARTS)
    print(f"{'D':>3}  {'method':16}{'K':>5}{'seconds':>10}{'ARI':>8}{names}{'limit':>8}")
    for dim in DIMENSIONS:
        compare(dim, given.peer_iterations)


if __name__ == "__main__":
    main()
