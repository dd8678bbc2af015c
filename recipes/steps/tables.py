"""From trials to the paper's tables: tune, cluster, score, print. Shared by the recipes.

    WORK/valid/d2_n150/00.npz   `embeddings` (n, p), and beside it 00.json with the true `sets`
    WORK/test/d{D}_n{N}/...     the same for each size
    WORK/presets/METHOD.json    hyperparameters, METHOD.tsv: what each combination reached
    WORK/results/METHOD/d{D}_n{N}/00.json   sets, seconds of the processor, parameters
    WORK/scores.tsv             one line for each result

Everything that is there already is skipped, so that whatever was stopped goes on.
"""

from __future__ import annotations

import csv
import json
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from scipy.optimize import brentq
from scipy.special import binom
from steps.markdown import print_table
from steps.scores import read_scores

from diarize import clustering
from diarize.formats.embeddings import read_embeddings
from diarize.formats.sets import read_sets
from diarize.scatter import Scatter
from diarize.scoring import adjusted_rand_index, compositional_rand_index
from diarize.scoring.report import standard_error
from diarize.sets import SpeakerSets, enumerate_sets
from diarize.storage.files import atomic_output
from diarize.tuning.presets import Preset, preset_text, read_preset
from diarize.tuning.trials import Trial, tune

Compose = Callable[[Any, Any], Any]

COMPOSITIONAL = ("gcr", "gcr-nearest", "gcr-counting", "gcr-untold", "cap", "ckm", "ckm-counting")
BASELINES = ("ap", "ac", "ac-counting", "fcm", "gmm")
CENTROIDS = "centroids"
"""No method: rows go to the nearest composition of the true centroids, so f and g alone err."""
TUNED = (*COMPOSITIONAL, *BASELINES)
METHODS = (*TUNED, "osc", CENTROIDS)
TITLES = {
    CENTROIDS: "true centroids",
    "gcr-nearest": "GCR, Algorithm 4",
    "gcr-untold": "GCR, told nothing",
}

TUNED_D = 2
"""Most speakers in a set of the validation trials."""

FULL_CAP = 750
"""Most rows that CAP clusters in full; of more, it clusters CAP_SAMPLE [paper, section 6.3]."""
CAP_SAMPLE = 150

_PENALTIES = (0.1, 0.15, 0.2, 0.225, 0.25, 0.275, 0.3, 0.35, 0.4, 0.5, 0.7, 1.0)
_CLUSTERS = (4, 5, 6, 8, 10, 12, 15, 18, 20, 25, 30, 40)

_THRESHOLDS = (None, 0.2, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 1.0)
_GCR = {
    "n_base_clusters": (8, 10, 12, 13, 14, 15, 16, 17, 18, 20, 25),
    "threshold": _THRESHOLDS,
}

SPACES: dict[str, dict[str, tuple[Any, ...]]] = {
    # In the paper k is tuned as the others are, and no method is told the number of speakers.
    "ckm": {"n_speakers": (4, 5, 6, 7)},
    "cap": {
        "preference": (-1.0, -2.0, -3.0, -4.0, -4.5, -5.0, -5.5, -6.0, -7.0, -8.0, -10.0),
        "squared": (True, False),
    },
    "gcr": {"order": ("elimination",), **_GCR},
    "gcr-nearest": {"order": ("nearest",), **_GCR},  # the paper's
    "ap": {"preference": (-0.5, -0.75, -1.0, -1.25, -1.5, -2.0, -3.0, -4.0, -5.0, -6.0, -7.0)},
    "ac": {"distance_threshold": (0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0)},
    "fcm": {"n_speakers": _CLUSTERS, "fuzzifier": (1.02, 1.05, 1.1, 1.15, 1.2, 1.3, 1.5, 2.0)},
    "gmm": {"n_speakers": _CLUSTERS, "covariance_type": ("full", "tied", "diag", "spherical")},
    # Not in the paper: nothing is tuned, and clusters are counted anew in each trial.
    "ckm-counting": {"count_penalty": (1.0,)},
    "gcr-untold": {"count_penalty": (1.0,)},
    # The same, tuned.
    "gcr-counting": {
        "order": ("elimination",),
        "count_penalty": _PENALTIES,
        "threshold": _THRESHOLDS,
    },
    "ac-counting": {"count_penalty": _PENALTIES},
}
"""What is tuned; where a method is not listed, what its class declares."""


def as_published(method: str, n: int) -> dict[str, Any]:
    """What the paper fixes for n rows: no bound on clusters, no sample but that of CAP."""
    if method == "cap":
        return {"sample_size": None if n <= FULL_CAP else CAP_SAMPLE}
    if _backend(method) in ("gcr", "ap", "ac"):
        return {"sample_size": None, "max_speakers": n}
    return {}


@dataclass(frozen=True)
class Score:
    """One line of scores.tsv; rates are fractions of one, `seconds` the processor's."""

    method: str
    d: int
    n: int
    trial: str
    cri: float
    ari: float
    n_speakers: int
    seconds: float


def read_trials(folder: Path, scatter: Scatter | None = None) -> list[Trial]:
    """The trials of one folder, in the order of their names."""
    return [_read_trial(path, scatter) for path in sorted(folder.glob("*.npz"))]


def _read_trial(path: Path, scatter: Scatter | None) -> Trial:
    return Trial(
        f"{path.parent.name}/{path.stem}",
        read_embeddings(path).embeddings,
        read_sets(path.with_suffix(".json")),
        scatter,
    )


def tune_methods(
    work: Path,
    compose: Compose,
    methods: Iterable[str],
    seed: int,
    *,
    scatter: Scatter | None = None,
    title: str = "tuned",
    n: int = 150,
    budget: int | None = None,
    processes: int = 1,
) -> None:
    """Find each method's hyperparameters on the validation trials (d = 2) by mean CRI.

    Args:
        work: the work folder.
        compose: g.
        methods: those that have no preset yet are tuned.
        seed: of the methods.
        scatter: what is known of how the vectors scatter.
        title: a preset is called METHOD-TITLE.
        n: size of the validation trials.
        budget: most combinations that are tried of a method; None: all.
        processes: methods tuned at a time.
    """
    trials = read_trials(work / "valid" / f"d{TUNED_D}_n{n}", scatter)
    presets = work / "presets"
    presets.mkdir(exist_ok=True)

    def tune_one(method: str) -> None:
        fixed = as_published(method, n)
        space = SPACES.get(method) or clustering.make(_backend(method)).tunables
        space = {**space, **{name: (value,) for name, value in fixed.items()}}
        found = tune(
            _backend(method), trials, compose=compose, space=space, budget=budget, seed=seed
        )
        table = [(_without(o.params, fixed), o.score, o.standard_error) for o in found.table]
        lines = [f"{json.dumps(params)}\t{cri:.4f}\t{se:.4f}\n" for params, cri, se in table]
        _write(presets / f"{method}.tsv", "params\tcri\tse\n" + "".join(lines))
        source = (
            f"{len(trials)} validation trials of {n} rows in sets of up to 2, best mean CRI "
            f"({table[0][1]:.4f}) of {len(table)} combinations."
        )
        preset = Preset(f"{method}-{title}", _backend(method), table[0][0], source)
        _write(presets / f"{method}.json", preset_text(preset))

    wanted = [m for m in methods if m in TUNED and not (presets / f"{m}.json").exists()]
    _in_parallel(processes, [(tune_one, (method,)) for method in wanted])


def _backend(method: str) -> str:
    return method.partition("-")[0]


def _without(params: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name not in names}


def cluster_trials(
    work: Path,
    compose: Compose,
    methods: Iterable[str],
    d: int,
    sizes: Sequence[int],
    seed: int,
    *,
    scatter: Scatter | None = None,
    processes: int = 1,
) -> None:
    """Cluster the test trials of these sizes, unless there is a result with the same parameters."""
    tasks = []
    for n in sizes:
        for method in methods:
            params = _params(work, method, n, d) | {"max_set_size": d, "random_state": seed}
            out = work / "results" / method / f"d{d}_n{n}"
            out.mkdir(parents=True, exist_ok=True)
            for trial in sorted((work / "test" / out.name).glob("*.npz")):
                path = out / f"{trial.stem}.json"
                if not path.exists() or json.loads(path.read_text())["params"] != params:
                    tasks.append((_cluster, (method, params, compose, scatter, trial, path)))
    _in_parallel(processes, tasks)


def _params(work: Path, method: str, n: int, d: int) -> dict[str, Any]:
    if method not in TUNED:
        return {}
    preset = read_preset(work / "presets" / f"{method}.json")
    params = {**preset.params, **as_published(method, n)}
    if method == "cap" and CAP_SAMPLE < n <= FULL_CAP:
        # An exemplar's cost is weighed against a sum over all rows: the balance that was tuned.
        params["preference"] *= n / CAP_SAMPLE
    if _backend(method) == "gcr" and d != TUNED_D and params.get("n_base_clusters"):
        params["n_base_clusters"] = as_many_sets(params["n_base_clusters"], d)
    return params


def as_many_sets(n_sets: int, d: int) -> int:
    """How many sets of up to d the speakers have who have `n_sets` of up to `TUNED_D`."""

    def sets(speakers: float, d: int) -> float:
        return float(sum(binom(speakers, size) for size in range(1, d + 1)))

    speakers = brentq(lambda k: sets(k, TUNED_D) - n_sets, 1.0, float(max(n_sets, 2)))
    return round(sets(speakers, d))


def _cluster(
    method: str,
    params: dict[str, Any],
    compose: Compose,
    scatter: Scatter | None,
    trial_path: Path,
    out: Path,
) -> None:
    trial = _read_trial(trial_path, scatter)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        begin = time.process_time()
        sets = _sets(method, params, compose, trial)
        seconds = time.process_time() - begin
    content = {
        "backend": _backend(method),
        "n_speakers": sets.n_speakers,
        "seconds": round(seconds, 3),
        "params": params,
        "warnings": sorted({str(warning.message) for warning in said}),
        "sets": sets.to_lists(),
    }
    _write(out, json.dumps(content) + "\n")


def _sets(method: str, params: dict[str, Any], compose: Compose, trial: Trial) -> SpeakerSets:
    if method == CENTROIDS:
        return _nearest_true(trial, compose, params["max_set_size"])
    estimator = clustering.make(_backend(method), compose=compose, scatter=trial.scatter, **params)
    return estimator.fit(trial.rows, trial.truth if estimator.needs_truth else None).sets_


def _nearest_true(trial: Trial, compose: Compose, d: int) -> SpeakerSets:
    """Each row's nearest set of true speakers: g over the means of the rows with one speaker."""
    from diarize.clustering.composition import compose_sets

    oracle = clustering.make("oracle", compose=compose, max_set_size=d)
    centroids = oracle.fit(trial.rows, trial.truth).centroids_
    sets = enumerate_sets(len(centroids), d)
    centers = compose_sets(compose, centroids, sets)
    distances = (centers**2).sum(axis=1) - 2 * trial.rows @ centers.T
    return SpeakerSets(sets)[distances.argmin(axis=1)]


def score_trials(work: Path) -> list[Score]:
    """Score every result against the truth of its trial, and write scores.tsv."""
    truths: dict[str, SpeakerSets] = {}
    scores = []
    for path in sorted((work / "results").glob("*/d*_n*/*.json")):
        method, size, trial = path.parts[-3], path.parts[-2], path.stem
        d, n = (int(part[1:]) for part in size.split("_"))
        if f"{size}/{trial}" not in truths:
            truths[f"{size}/{trial}"] = read_sets(work / "test" / size / path.name)
        truth, sets = truths[f"{size}/{trial}"], read_sets(path)
        result = json.loads(path.read_text())
        cri, ari = compositional_rand_index(sets, truth), adjusted_rand_index(sets, truth)
        scores.append(Score(method, d, n, trial, cri, ari, result["n_speakers"], result["seconds"]))
    order = {method: place for place, method in enumerate(METHODS)}
    scores.sort(key=lambda s: (s.d, s.n, order[s.method], s.trial))
    lines = ["\t".join(field.name for field in fields(Score))]
    lines += ["\t".join(map(str, astuple(score))) for score in scores]
    _write(work / "scores.tsv", "\n".join(lines) + "\n")
    return scores


def print_tables(work: Path, published: Path | None) -> None:
    """Print the tables as Markdown: per cent, mean (standard error), ours beside the paper's.

    Below them the matched-pair t-tests between each compositional method and each baseline, the
    numbers of speakers and the seconds.

    Args:
        work: the work folder, scored.
        published: TSV of the paper's figures, columns d, n, method, cri, cri_se, ari, ari_se.
    """
    scores = read_scores(work / "scores.tsv", Score)
    theirs = _read_published(published) if published else {}
    for d in sorted({score.d for score in scores}):
        table = _Table([score for score in scores if score.d == d])
        for metric in ("cri", "ari"):
            table.print_rates(metric, {key[1:]: row for key, row in theirs.items() if key[0] == d})
        for metric in ("cri", "ari"):
            table.print_tests(metric)
        table.print_means("Speakers found", "n_speakers", "{:.1f}")
        table.print_means("Seconds of the processor per trial", "seconds", "{:.2f}")


def _read_published(path: Path) -> dict[tuple[int, int, str], dict[str, str]]:
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return {(int(row["d"]), int(row["n"]), row["method"]): row for row in rows}


class _Table:
    """The scores for one d, by method and size."""

    def __init__(self, scores: Sequence[Score]) -> None:
        self.d = scores[0].d
        self.sizes = sorted({score.n for score in scores})
        present = {score.method for score in scores}
        self.methods = [method for method in METHODS if method in present]
        self.cells: dict[tuple[str, int], dict[str, Score]] = {}
        for score in scores:
            self.cells.setdefault((score.method, score.n), {})[score.trial] = score
        self.n_trials = max(len(cell) for cell in self.cells.values())

    def print_rates(self, metric: str, theirs: dict[tuple[int, str], dict[str, str]]) -> None:
        columns = ["method"]
        for n in self.sizes:
            columns += [f"n = {n}", "paper"] if theirs else [f"n = {n}"]
        print(f"**{metric.upper()} (%), sets of up to {self.d}**\n")
        rows = []
        for method in self.methods:
            row = [_name(method)]
            for n in self.sizes:
                row.append(self._rate(method, n, metric))
                if theirs:
                    cell = theirs.get((n, method))
                    known = cell is not None and cell[metric]
                    row.append(f"{cell[metric]} ({cell[metric + '_se']})" if known else "")
            rows.append(row)
        print_table(columns, rows)
        print()

    def _rate(self, method: str, n: int, metric: str) -> str:
        cell = self.cells.get((method, n))
        if cell is None or (method == "osc" and metric == "ari"):  # it is given the truth
            return ""
        values = 100 * np.array([getattr(score, metric) for score in cell.values()])
        error = standard_error(values)
        missing = f" [{len(values)} trials]" if len(values) < self.n_trials else ""
        return f"{values.mean():.1f} ({error:.1f}){missing}"

    def print_tests(self, metric: str) -> None:
        """Mean difference in points, and p of the two-sided matched-pair t-test."""
        print(f"**{metric.upper()}, difference in points (p of the matched-pair t-test)**\n")
        against = (*BASELINES, *(["osc"] if metric == "cri" else []))
        rows = (
            (f"{_name(a)} - {_name(b)}", *(self._test(a, b, n, metric) for n in self.sizes))
            for a in [m for m in self.methods if m in COMPOSITIONAL]
            for b in [m for m in self.methods if m in against]
        )
        print_table(("", *(f"n = {n}" for n in self.sizes)), rows)
        print()

    def _test(self, ours: str, other: str, n: int, metric: str) -> str:
        from scipy.stats import ttest_rel

        a, b = self.cells.get((ours, n), {}), self.cells.get((other, n), {})
        pairs = [(getattr(a[t], metric), getattr(b[t], metric)) for t in a if t in b]
        if len(pairs) < 2:
            return ""
        first, second = np.array(pairs).T
        gap = 100 * (first - second).mean()
        if np.ptp(first - second) == 0:
            return f"{gap:+.1f}"
        p = ttest_rel(first, second).pvalue
        return f"{gap:+.1f} ({'p < 0.001' if p < 0.001 else f'p = {p:.3f}'})"

    def print_means(self, title: str, field: str, form: str) -> None:
        print(f"**{title}**\n")
        rows = []
        for method in self.methods:
            cells = [self.cells.get((method, n), {}).values() for n in self.sizes]
            row = [form.format(np.mean([getattr(s, field) for s in c])) if c else "" for c in cells]
            rows.append([_name(method), *row])
        print_table(("method", *(f"n = {n}" for n in self.sizes)), rows)
        print()


def _name(method: str) -> str:
    backend, _, variant = method.partition("-")
    return TITLES.get(method, backend.upper() + (f", {variant}" if variant else ""))


def _write(path: Path, text: str) -> None:
    with atomic_output(path, "w") as stream:
        stream.write(text)


def _in_parallel(processes: int, tasks: Sequence[tuple[Callable[..., None], tuple]]) -> None:
    with joblib.parallel_config("loky", inner_max_num_threads=1 if processes > 1 else None):
        joblib.Parallel(processes, batch_size=1)(joblib.delayed(f)(*args) for f, args in tasks)
