"""Time and memory of the clusterings, as ratios to peers in the same run.

    python benchmarks/clustering.py --part ckm --part cri

The parts: `cap` (an iteration, fits of 150 and 750 rows), `ckm` (against Adam over all rows),
`cri` (against the sum over all pairs of rows), `growth` (all backends against n, and scikit-learn
and scikit-fuzzy beside the baselines). Rows are unit vectors around five speakers and the unions of
any two, as the shipped model's g composes them.

Seconds are processor time of a single thread, so that a busy machine makes little difference.
Memory is by how much the peak of a process of its own rises while it fits.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from clustering_peers import AdamKMeans, estimator, index_of_all_pairs
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from diarize.clustering import BACKENDS, make
from diarize.clustering.composition import Compose, compose_sets
from diarize.embedding import load_model
from diarize.scoring import adjusted_rand_index, compositional_rand_index
from diarize.sets import SpeakerSets, enumerate_sets, to_sphere

SPEAKERS = 5
SPREAD = 0.9  # length of the noise that is added to a unit vector
PARTS = ("cap", "ckm", "cri", "growth")
SIZES = (150, 375, 750, 1500, 3750, 7500, 15000)
MIB = 2**20

# So that every fit sees all rows, and as many clusters as there are sets.
OPTIONS: dict[str, dict[str, Any]] = {
    "ckm": {"n_speakers": SPEAKERS, "sample_size": None},
    "gcr": {"n_base_clusters": 15, "sample_size": None},
    "cap": {"sample_size": None, "preference": -5.0},
    "ac": {"n_speakers": 15, "sample_size": None},
    "ap": {"preference": -5.0, "sample_size": None},
    "fcm": {"n_speakers": 15, "sample_size": None},
    "gmm": {"n_speakers": 15, "sample_size": None},
}
PEERS = ("scikit-learn AC", "scikit-learn AP", "scikit-learn GMM", "scikit-fuzzy FCM")


class Voices(NamedTuple):
    rows: np.ndarray  # float32 (n, p)
    truth: SpeakerSets
    compose: Compose


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--part", action="append", choices=PARTS, help="may repeat; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=15_000, help="of the parts ckm and cri")
    parser.add_argument("--restarts", type=int, default=100, help="of compositional k-means")
    parser.add_argument("--backend", action="append", help="of the part growth; may repeat")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds; a larger n is not tried beyond it"
    )
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        if given.child:
            print(json.dumps(measure(**json.loads(given.child))))
            return
        for part in given.part or PARTS:
            print(f"\n{part}")
            if part == "cap":
                time_cap(given.seed)
            elif part == "ckm":
                time_ckm(given.rows, given.restarts, given.seed)
            elif part == "cri":
                time_cri(given.rows, given.seed)
            else:
                time_growth(given.backend, given.limit, given.seed)


def voices(n: int, seed: int) -> Voices:
    """Equally many rows of each set of one or two speakers, in random order."""
    generator = np.random.default_rng(seed)
    model = load_model()
    sets = enumerate_sets(SPEAKERS, 2)
    centroids = to_sphere(generator.normal(size=(SPEAKERS, model.config.dim)))
    centers = compose_sets(model.compose, centroids, sets)
    ids = generator.permutation(n) % len(sets)
    noise = SPREAD * to_sphere(generator.normal(size=(n, model.config.dim)))
    rows = to_sphere(centers[ids] + noise).astype(np.float32)
    return Voices(rows, SpeakerSets(sets[ids]), model.compose)


def seconds(work: Callable[..., Any], *given: Any, times: int = 1) -> float:
    """Processor time of the quickest of some runs of `work(*given)`."""
    took = []
    for _ in range(times):
        start = time.process_time()
        work(*given)
        took.append(time.process_time() - start)
    return min(took)


def time_cap(seed: int) -> None:
    """An iteration against a maximum over as many numbers; whole fits."""
    from diarize.clustering.cap.messages import Messages

    took: list[float] = []
    iterate = Messages.iterate

    def timed(self: Messages) -> None:
        took.append(seconds(iterate, self))

    print(f"{'n':>6} {'maximum':>9} {'iteration':>10} {'ratio':>6}   (limit 10)")
    for n in (150, 375, 750):
        data = voices(n, seed)
        scores = np.random.default_rng(seed).random(n**3 // 2, dtype=np.float32)
        maximum = seconds(scores.max, times=5)
        del scores
        took.clear()
        Messages.iterate = timed  # type: ignore[method-assign]
        make("cap", compose=data.compose, max_iter=10, random_state=seed, **OPTIONS["cap"]).fit(
            data.rows
        )
        Messages.iterate = iterate  # type: ignore[method-assign]
        one = min(took)
        print(f"{n:6} {maximum:9.4f} {one:10.4f} {one / maximum:6.2f}", flush=True)
    print(f"{'n':>6} {'iterations':>10} {'seconds':>9} {'MiB':>6}")
    for n, limits in ((150, "2 s"), (750, "180 s, 6144 MiB")):
        found = in_child("cap", n, seed, max_iter=60, convergence_window=60)
        print(
            f"{n:6} {found['iterations']:10} {found['seconds']:9.2f} {found['mib']:6.0f}   "
            f"(limit {limits})",
            flush=True,
        )


def time_ckm(n: int, restarts: int, seed: int) -> None:
    """Against as many restarts of 20 alternations, or one, of 100 steps of Adam over all rows."""
    data = voices(n, seed)
    chosen = np.random.default_rng(seed)
    starts = np.stack(
        [data.rows[chosen.choice(n, SPEAKERS, replace=False)] for _ in range(restarts)]
    )
    print(f"n = {n}, {SPEAKERS} speakers, {restarts} restarts; the peer is timed on two of them,")
    print("and its objective for all comes from the same steps on counts and sums")
    print(f"{'centroids':12} {'':24} {'seconds':>9} {'ratio':>7} {'limit':>6} {'SSD':>12}")
    for on_sphere in (True, False):
        rows, compose, scale = data.rows, data.compose, 1.0
        if not on_sphere:  # rows of another length than 1: the centroids are free
            rows, compose, scale = 2 * data.rows, doubled(data.compose), 4.0
        model = make(
            "ckm",
            n_speakers=SPEAKERS,
            compose=compose,
            n_restarts=restarts,
            sample_size=None,
            random_state=seed,
        )
        own = seconds(model.fit, rows)
        name = "on sphere" if on_sphere else "free"
        print(f"{name:12} {'ckm':24} {own:9.2f} {'':14} {model.ssd_ / scale:12.4f}", flush=True)
        peer = AdamKMeans(data.rows, data.compose, SPEAKERS, on_sphere)
        alternation = min(seconds(peer.run, first, 1, 100) for first in starts[:2])
        for alternations, limit in ((20, 30), (1, 5)):
            values = peer.run_all(starts, alternations, 100)
            took = alternation * alternations * restarts
            print(
                f"{'':12} {f'Adam, {alternations} alternations':24} {took:9.0f} {took / own:7.1f} "
                f"{limit:6} {values.min():12.4f}",
                flush=True,
            )


def doubled(compose: Compose) -> Compose:
    """The composition of vectors of twice the length."""
    return lambda a, b: 2 * compose(a / 2, b / 2)


def time_cri(n: int, seed: int) -> None:
    """Contingency of sets against comparing every row with every other."""
    generator = np.random.default_rng(seed)
    print(f"{'n':>9} {'CRI':>8} {'ARI':>8} {'all pairs':>10} {'difference':>11}   (limit 0.1 s)")
    for size in (n, 1_000_000):
        truth = enumerate_sets(SPEAKERS, 2)[generator.integers(15, size=size)]
        inferred = truth ^ (generator.random(truth.shape) < 0.1)
        # Without what the labelings remember from before.
        cri = seconds(score, compositional_rand_index, inferred, truth, times=3)
        ari = seconds(score, adjusted_rand_index, inferred, truth, times=3)
        line = f"{size:9} {cri:8.4f} {ari:8.4f}"
        if size == n:
            start = time.process_time()
            expected = score(index_of_all_pairs, inferred, truth)
            slow = time.process_time() - start
            difference = abs(expected - score(compositional_rand_index, inferred, truth))
            line += f" {slow:10.2f} {difference:11.1e}"
        print(line, flush=True)


def score(
    index: Callable[[SpeakerSets, SpeakerSets], float], inferred: np.ndarray, truth: np.ndarray
) -> float:
    return index(SpeakerSets(inferred), SpeakerSets(truth))


def time_growth(backends: list[str] | None, limit: float, seed: int) -> None:
    """Time and memory against n; the exponents are those of the three largest n."""
    print(f"{'':18} {'n':>6} {'seconds':>9} {'MiB':>7} {'CRI':>6} {'ARI':>6}")
    names = backends or [name for name in BACKENDS if name in OPTIONS] + list(PEERS)
    for name in names:
        measured: list[tuple[float, float, float]] = []
        for n in SIZES:
            found = in_child(name, n, seed)
            if "reason" in found:
                print(f"{name:18} {found['reason']}")
                break
            scores = " ".join(f"{100 * found[m]:6.1f}" for m in ("cri", "ari") if m in found)
            print(
                f"{name:18} {n:6} {found['seconds']:9.2f} {found['mib']:7.0f} {scores}", flush=True
            )
            measured.append((n, found["seconds"], found["mib"]))
            slope = max(exponents(measured)[0], 1.0) if len(measured) > 2 else 1.0
            following = SIZES[min(SIZES.index(n) + 1, len(SIZES) - 1)]
            if found["seconds"] * (following / n) ** slope > limit:
                break
        if len(measured) > 2:
            in_time, in_memory = exponents(measured)
            print(f"{name:18} {'n^':>6} {in_time:9.2f} {in_memory:7.2f}")


def exponents(measured: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Slopes of the logarithms of time and memory over that of n."""
    n, took, memory = np.log(np.maximum(measured[-3:], 1e-3)).T
    return float(np.polyfit(n, took, 1)[0]), float(np.polyfit(n, memory, 1)[0])


def in_child(name: str, n: int, seed: int, **options: Any) -> dict[str, Any]:
    """`measure` in a process of its own."""
    arguments = json.dumps({"name": name, "n": n, "seed": seed, "options": options})
    command = [sys.executable, __file__, "--child", arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        sys.exit(f"{name}, n = {n}: exit code {result.returncode}\n{result.stderr}")
    return dict(json.loads(result.stdout))


def measure(name: str, n: int, seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """Fit one clustering once."""
    data = voices(n, seed)
    if name in PEERS:
        try:
            fit = estimator(name, 15, seed)
        except ImportError as error:
            return {"reason": str(error)}
        fit(data.rows[:60])  # imports are no part of the fit
        before = peak()
        took = seconds(fit, data.rows)
        return {"seconds": took, "mib": peak() - before}
    params = {"compose": data.compose, "random_state": seed, **OPTIONS[name], **options}
    make(name, **params).fit(data.rows[:60])
    model = make(name, **params)
    before = peak()
    took = seconds(model.fit, data.rows)
    return {
        "seconds": took,
        "mib": peak() - before,
        "iterations": getattr(model, "n_iter_", None),
        "cri": compositional_rand_index(model.sets_, data.truth),
        "ari": adjusted_rand_index(model.sets_, data.truth),
    }


def peak() -> float:
    """Largest resident memory of this process so far, in MiB."""
    status = Path("/proc/self/status")
    if status.is_file():  # there `ru_maxrss` begins with that of the process that started this one
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines["VmHWM"].split()[0]) / 1024
    unit = 1 if sys.platform == "darwin" else 1024  # bytes there, KiB elsewhere
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MIB


if __name__ == "__main__":
    main()
