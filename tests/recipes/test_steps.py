"""What the recipes share: options of the scripts, and the way from trials to tables."""

from __future__ import annotations

import importlib
import json
import os
import sys
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from diarize.sets import SpeakerSets

from .conftest import RECIPES, run_script

SCRIPT = """#!/usr/bin/env bash
# What it does.
#   run.sh [--two-words X]
set -euo pipefail
two_words=none quick=false stage=1 stop_stage=2
. "$(dirname "$0")/../steps/parse_options.sh"
echo "$two_words $quick $here"
for n in 0 1 2 3; do if wanted $n "number $n"; then echo "$n"; fi; done
"""


@pytest.fixture
def script(tmp_path: Path, repo_root: Path) -> Path:
    (tmp_path / "steps").symlink_to(repo_root / "recipes" / "steps")
    path = tmp_path / "mine" / "run.sh"
    path.parent.mkdir()
    path.write_text(SCRIPT)
    return path


SCRIPTS = sorted(RECIPES.glob("*/run.sh"))
NEEDS = {
    "activity": "--speech DIR", "conversations": "--speech DIR", "embedding": "--speech DIR",
    "librispeech_mixtures": "speech is needed", "meetings": "--corpus is ami-headsets",
    "omniglot": "--omniglot DIR", "streaming": "--speech DIR",
}  # fmt: skip
"""What a recipe cannot do without; the others bring their own."""


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.parent.name)
def test_every_recipe_says_what_it_needs(path: Path) -> None:
    assert os.access(path, os.X_OK)
    need = NEEDS.get(path.parent.name)
    for options, reason in ((["--colour"], "unknown option --colour"), ([], need)):
        if reason:
            done = run_script(path, *options)
            assert (done.returncode, done.stdout) == (2, "")
            assert reason in done.stderr


def test_options_set_variables(script: Path) -> None:
    done = run_script(script, "--two-words", "a b", "--quick", "--stop-stage", "1")
    assert done.stdout == f"a b true {script.parent}\n1\n"
    assert done.stderr.endswith("stage 1: number 1\n")
    assert run_script(script).stdout == f"none false {script.parent}\n1\n2\n"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--colour", "x"], "unknown option --colour"),
        (["word"], "unknown option word"),
        (["--a[$(touch x)]", "x"], "unknown option --a["),
        (["--stage"], "--stage needs a value"),
    ],
)
def test_other_options_are_refused(script: Path, options: list[str], reason: str) -> None:
    done = run_script(script, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr


def test_help_is_the_head_of_the_script(script: Path) -> None:
    assert run_script(script, "--help").stdout == "What it does.\n  run.sh [--two-words X]\n"


PROGRAM = """
import json, os, sys
seen = [sys.argv, sys.path, os.getcwd(), os.environ["PYTHONPATH"], sys.stdin.read(), __name__]
for one in (sys.stdin, sys.stdout, sys.stderr):
    seen += [one.seekable(), one.encoding, one.errors, one.line_buffering]
sys.stdout.reconfigure(errors="replace")
print(json.dumps(seen), flush=True)
print("to others", file=sys.stderr)
sys.exit({"none": None, "number": 3, "words": "a reason"}[sys.argv[1]])
"""


@pytest.mark.parametrize("end", ["none", "number", "words", "error"])
@pytest.mark.parametrize("first", [["folder/program.py"], ["-m", "program"], ["-c", PROGRAM]])
def test_a_forked_program_is_as_one_that_was_started(
    first: list[str], end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "folder"))
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "program.py").write_text(PROGRAM)
    script = tmp_path / "run.sh"
    script.write_text('cd "$(dirname "$0")"; echo heard | "$@"\n')
    own = run_script(script, sys.executable, *first, end)
    forked = run_script(script, "python", *first, end)
    assert (own.returncode, own.stdout) == (forked.returncode, forked.stdout)
    assert own.stderr.splitlines()[-1] == forked.stderr.splitlines()[-1]
    assert own.returncode == {"none": 0, "number": 3}.get(end, 1)


@pytest.fixture
def tables(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(repo_root / "recipes"))
    return importlib.import_module("steps.tables")


def middle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a + b) / 2


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Two validation and two test trials of 30 rows: sums of corners, well apart."""
    rng = np.random.default_rng(0)
    kinds = [list(c) for size in (1, 2) for c in combinations(range(5), size)]
    for part in ("valid", "test"):
        folder = tmp_path / part / "d2_n30"
        folder.mkdir(parents=True)
        for trial in range(2):
            sets = [kinds[i] for i in rng.permutation(np.arange(30) % 15)]
            rows = np.array([np.eye(5)[row].mean(axis=0) for row in sets])
            rows += 0.01 * rng.standard_normal(rows.shape)
            np.savez(folder / f"{trial:02d}.npz", embeddings=rows.astype(np.float32))
            (folder / f"{trial:02d}.json").write_text(json.dumps({"sets": sets}))
    return tmp_path


def test_from_trials_to_tables(
    tables: ModuleType, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = ["gcr", "gcr-counting", "gcr-untold", "ac", "osc", "centroids"]
    in_full = [method for method in methods if method != "gcr-counting"]
    tables.tune_methods(work, middle, in_full, 0, n=30, title="corners")
    tables.tune_methods(work, middle, ["gcr-counting"], 0, n=30, budget=2)
    assert json.loads((work / "presets" / "gcr.json").read_text())["name"] == "gcr-corners"
    assert not (work / "presets" / "osc.json").exists()  # there is nothing to tune
    # Bounds and samples are the experiment's: they are not what tuning has found.
    ac = json.loads((work / "presets" / "ac.json").read_text())["params"]
    assert set(ac) == {"distance_threshold"}
    assert (work / "presets" / "gcr.tsv").read_text().count("\n") == 1 + 11 * 11

    tables.cluster_trials(work, middle, methods, 2, [30], 0)
    scores = tables.score_trials(work)
    assert tables.read_scores(work / "scores.tsv", tables.Score) == scores
    assert [s.method for s in scores] == [m for m in methods for _ in range(2)]
    by_method = {s.method: s for s in scores}
    assert by_method["centroids"].cri == 1.0
    assert by_method["centroids"].n_speakers == 5
    assert by_method["gcr"].cri > 0.9
    assert by_method["osc"].cri < 1.0 == by_method["osc"].ari

    published = work / "published.tsv"
    published.write_text(
        "d\tn\tmethod\tcri\tcri_se\tari\tari_se\n2\t30\tgcr\t94.6\t1.1\t77.2\t4.0\n"
        "2\t30\tosc\t91.1\t0.0\t\t\n"
    )
    tables.print_tables(work, published)
    printed = capsys.readouterr().out
    assert "| method | n = 30 | paper |\n|---|---|---|\n| GCR | " in printed
    assert ") | 94.6 (1.1) |" in printed
    assert "| true centroids | 100.0 (0.0) |  |" in printed
    assert "| GCR, told nothing | " in printed
    assert "| GCR, counting | " in printed
    assert "| GCR - AC | +" in printed
    assert "| OSC |  |  |" in printed  # the truth was handed to it: no adjusted Rand index


def test_results_that_are_there_stay_unless_parameters_change(
    tables: ModuleType, work: Path
) -> None:
    preset = work / "presets" / "gcr.json"
    preset.parent.mkdir()
    results = sorted(work / "results" / "gcr" / "d2_n30" / f"{i:02d}.json" for i in range(2))

    def cluster_with(**params: float) -> list[str]:
        preset.write_text(json.dumps({"name": "x", "backend": "gcr", "params": params}))
        tables.cluster_trials(work, middle, ["gcr"], 2, [30], 0)
        return [path.read_text() for path in results]

    cluster_with(n_base_clusters=15)
    results[0].write_text(results[0].read_text().replace('"warnings": []', '"warnings": ["mine"]'))
    assert '"mine"' in cluster_with(n_base_clusters=15)[0]
    changed = cluster_with(n_base_clusters=12)
    assert all('"n_base_clusters": 12' in text and '"mine"' not in text for text in changed)


def test_processes_change_nothing(tables: ModuleType, work: Path) -> None:
    for name, processes in (("one", 1), ("two", 2)):
        own = work / name
        own.mkdir()
        (own / "valid").symlink_to(work / "valid")
        (own / "test").symlink_to(work / "test")
        tables.tune_methods(own, middle, ["gcr"], 0, n=30, budget=4, processes=processes)
        tables.cluster_trials(own, middle, ["gcr"], 2, [30], 0, processes=processes)
    one, two = (tables.score_trials(work / name) for name in ("one", "two"))
    assert [(s.trial, s.cri, s.ari) for s in one] == [(s.trial, s.cri, s.ari) for s in two]
    texts = [(work / name / "presets" / "gcr.tsv").read_text() for name in ("one", "two")]
    assert texts[0] == texts[1]


@pytest.mark.parametrize(
    ("method", "n", "expected"),
    [
        ("cap", 750, {"sample_size": None}),
        ("cap", 1500, {"sample_size": 150}),
        ("ap", 1500, {"sample_size": None, "max_speakers": 1500}),
        ("ckm", 150, {}),
    ],
)
def test_what_the_paper_fixes(
    tables: ModuleType, method: str, n: int, expected: dict[str, int | None]
) -> None:
    assert tables.as_published(method, n) == expected


def test_the_preference_of_cap_grows_with_the_rows(tables: ModuleType, tmp_path: Path) -> None:
    content = {"name": "x", "backend": "cap", "params": {"preference": -5.0}}
    (tmp_path / "presets").mkdir()
    (tmp_path / "presets" / "cap.json").write_text(json.dumps(content))
    found = [tables._params(tmp_path, "cap", n, 2)["preference"] for n in (150, 750, 1500)]
    assert found == [-5.0, -25.0, -5.0]  # 1500 rows are clustered by a sample of 150


def test_a_missing_trial_is_shown(
    tables: ModuleType, work: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        tables.Score("gcr", 2, 30, "00", 0.9, 0.5, 5, 1.0),
        tables.Score("gcr", 2, 30, "01", 0.8, 0.3, 5, 1.0),
        tables.Score("ac", 2, 30, "01", 0.7, 0.1, 5, 1.0),
    ]
    table = tables._Table(rows)
    table.print_rates("cri", {})
    table.print_tests("cri")
    printed = capsys.readouterr().out
    assert "| GCR | 85.0 (5.0) |" in printed
    assert "| AC | 70.0 (nan) [1 trials] |" in printed
    assert "| GCR - AC |  |" in printed  # a single pair tells nothing


def test_the_true_centroids_show_what_f_and_g_allow(tables: ModuleType) -> None:
    truth = SpeakerSets.from_lists([[0], [1], [0, 1], [0, 1]])
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.9, 0.1]], np.float32)
    trial = tables.Trial("t", rows, truth)
    found = tables._nearest_true(trial, middle, 2)
    assert found.to_lists() == [[0], [1], [0, 1], [0]]


def test_base_clusters_follow_the_number_of_sets(tables: ModuleType) -> None:
    """Five speakers have 15 sets of up to two, 25 of up to three."""
    assert [tables.as_many_sets(n, 3) for n in (1, 2, 3, 6, 15)] == [1, 2, 3, 7, 25]
    assert [tables.as_many_sets(n, 2) for n in (1, 7, 15)] == [1, 7, 15]


def test_tables_of_runs(repo_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(repo_root / "recipes"))
    module = importlib.import_module("steps.scores")
    path = tmp_path / "runs.tsv"
    assert module.read_scores(path, Run) == []
    runs = [Run("a", 3, 0.25), Run("b", 4, 0.5)]
    for run in runs:
        module.add_score(path, run)
    assert path.read_text() == "method\tseed\terror\na\t3\t0.2500\nb\t4\t0.5000\n"
    assert module.read_scores(path, Run) == runs


def test_a_table_as_markdown(
    repo_root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(repo_root / "recipes"))
    module = importlib.import_module("steps.markdown")
    total = {"der": 0.25, "jer": None, "speaker_count_error": 0.5}
    module.print_table(("name", 1, 2, 3), iter([("a", *module.errors(total, "der", "jer"))]))
    assert (
        capsys.readouterr().out
        == "| name | 1 | 2 | 3 |\n|---|---|---|---|\n| a | 25.0 |  | 0.50 |\n"
    )


@dataclass(frozen=True)
class Run:
    method: str
    seed: int
    error: float
