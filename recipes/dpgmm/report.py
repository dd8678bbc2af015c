"""Tables on standard output, and plots, of WORK/scores.tsv and WORK/trace.npz.

python report.py WORK
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from experiment import INITS, Score
from steps.markdown import print_table
from steps.scores import read_scores

TITLES = {
    "random": "SubC-random", "kmeans": "SubC-kmeans", "splitnet": "SubC-SplitNet",
    "bgm": "BayesianGaussianMixture", "k-means": "k-means, true K", "em": "EM-GMM, true K",
}  # fmt: skip
COUNTED = ("random", "kmeans", "splitnet", "bgm")
"""Methods that are not told K."""


def rates(scores: Sequence[Score]) -> Iterator[list[object]]:
    """Mean and spread of K-MAE, NMI, ARI and seconds of the methods, per experiment, D and K."""
    for key in dict.fromkeys((s.experiment, s.dim, s.k) for s in scores):
        for method in TITLES:
            some = [s for s in scores if (s.experiment, s.dim, s.k, s.method) == (*key, method)]
            if not some:
                continue
            errors = [abs(s.found - s.k) for s in some]
            cells = [_spread(errors, 1) if method in COUNTED else ""]
            cells += [_spread([s.nmi for s in some], 3), _spread([s.ari for s in some], 3)]
            seconds = np.mean([s.seconds for s in some])
            name = f"{key[0]}, D = {key[1]}, K = {key[2]}"
            yield [name, TITLES[method], len(some), *cells, f"{seconds:.1f}"]


def _spread(values: Sequence[float], digits: int) -> str:
    return f"{np.mean(values):.{digits}f} ± {np.std(values):.{digits}f}"


def tests(scores: Sequence[Score]) -> Iterator[list[object]]:
    """Paired differences between starts in ARI, with the p of Wilcoxon's signed rank test."""
    from scipy.stats import wilcoxon

    for key in dict.fromkeys((s.experiment, s.dim, s.k) for s in scores):
        by_method = {
            m: {s.set: s.ari for s in scores if (s.experiment, s.dim, s.k, s.method) == (*key, m)}
            for m in INITS
        }
        for one, other in (("splitnet", "random"), ("splitnet", "kmeans"), ("kmeans", "random")):
            shared = sorted(by_method[one].keys() & by_method[other].keys())
            if len(shared) < 2:
                continue
            gaps = np.array([by_method[one][i] - by_method[other][i] for i in shared])
            p = wilcoxon(gaps).pvalue if np.any(gaps) else 1.0
            name = f"{key[0]}, D = {key[1]}, K = {key[2]}"
            yield [name, f"{one} - {other}", len(gaps), f"{gaps.mean():+.3f}", f"{p:.3f}"]


def plot_boxes(scores: Sequence[Score], folder: Path) -> None:
    """Box plots of each D: a row for each metric, a column for each K (figure 8)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    metrics = {"K error": lambda s: abs(s.found - s.k), "NMI": lambda s: s.nmi,
               "ARI": lambda s: s.ari, "seconds": lambda s: s.seconds}  # fmt: skip
    mixtures = [s for s in scores if s.experiment == "mixtures"]
    for dim in sorted({s.dim for s in mixtures}):
        ks = sorted({s.k for s in mixtures if s.dim == dim})
        figure, axes = plt.subplots(
            len(metrics), len(ks), figsize=(4 * len(ks), 9), squeeze=False, layout="constrained"
        )
        for column, k in enumerate(ks):
            here = [s for s in mixtures if s.dim == dim and s.k == k]
            methods = [m for m in TITLES if any(s.method == m for s in here)]
            for axis, (name, value) in zip(axes[:, column], metrics.items(), strict=True):
                axis.boxplot([[value(s) for s in here if s.method == m] for m in methods])
                axis.set_xticks(range(1, len(methods) + 1), methods, rotation=45)
                axis.set_title(f"{name}, K = {k}")
        figure.savefig(folder / f"mixtures-{dim}d.svg")
        plt.close(figure)


def plot_density(scores: Sequence[Score], folder: Path) -> None:
    """K error and ARI as clusters get denser, a column for each D (figure 4)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    found = [s for s in scores if s.experiment.startswith("density ")]
    dims = sorted({s.dim for s in found})
    if not dims:
        return
    figure, axes = plt.subplots(
        2, len(dims), figsize=(3.5 * len(dims), 6), squeeze=False, layout="constrained"
    )
    for column, dim in enumerate(dims):
        here = [s for s in found if s.dim == dim]
        shares = sorted({float(s.experiment.split()[1]) for s in here}, reverse=True)
        for method in [m for m in TITLES if any(s.method == m for s in here)]:
            runs = [
                [s for s in here if (s.experiment, s.method) == (f"density {share:g}", method)]
                for share in shares
            ]
            errors = [np.mean([abs(s.found - s.k) for s in some]) for some in runs]
            if method in COUNTED:
                axes[0, column].plot(shares, errors, marker="o", label=TITLES[method])
            aris = [np.mean([s.ari for s in some]) for some in runs]
            axes[1, column].plot(shares, aris, marker="o", label=TITLES[method])
        for axis, name in zip(axes[:, column], ("K error", "ARI"), strict=True):
            axis.set_title(f"{name}, D = {dim}")
            axis.set_xlabel("share of rows that can be assigned right")
            axis.invert_xaxis()
    axes[1, 0].legend()
    figure.savefig(folder / "density.svg")
    plt.close(figure)


def plot_convergence(folder: Path) -> None:
    """Log posterior over seconds, mean and spread of the runs (figure 7)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    traces = np.load(folder / "trace.npz")
    figure, axis = plt.subplots(figsize=(6, 4), layout="constrained")
    for method in [m for m in INITS if m in traces]:
        runs = traces[method]
        seconds = np.arange(1, runs.shape[1] + 1) * float(traces[f"{method}-seconds"])
        mean, spread = runs.mean(axis=0), runs.std(axis=0)
        axis.plot(seconds, mean, label=TITLES[method])
        axis.fill_between(seconds, mean - spread, mean + spread, alpha=0.2)
    axis.set_xlabel("seconds of the processor")
    axis.set_ylabel("log posterior")
    axis.legend()
    figure.savefig(folder / "convergence.svg")
    plt.close(figure)


def main(folder: Path) -> None:
    """Print and plot what there is."""
    scores = read_scores(folder / "scores.tsv", Score)
    print_table(("data", "method", "sets", "K-MAE", "NMI", "ARI", "seconds"), rates(scores))
    print()
    print_table(("data", "pair", "sets", "difference in ARI", "p"), tests(scores))
    print()
    plot_boxes(scores, folder)
    plot_density(scores, folder)
    if (folder / "trace.npz").exists():
        plot_convergence(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
