"""`diarize tune`: material with truth in, a preset out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import Result

SETS = [[0]] * 6 + [[1]] * 6 + [[2]] * 6 + [[0, 1]] * 4


def write_trial(folder: Path, name: str, seed: int, **more: Any) -> None:
    """Three speakers and a mixture of two."""
    rows = np.array([[speaker in row for speaker in range(5)] for row in SETS], np.float32)
    rows += np.random.default_rng(seed).normal(0, 0.05, rows.shape).astype(np.float32)
    np.savez(folder / f"{name}.npz", embeddings=rows, **more)
    (folder / f"{name}.json").write_text(json.dumps({"sets": SETS}))


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    folder = tmp_path / "trials"
    folder.mkdir()
    for seed in range(2):
        write_trial(folder, f"0{seed}", seed)
    return folder


@pytest.fixture
def call(cli: Callable[..., Result]) -> Callable[..., Result]:
    """Call `diarize tune` with arguments, and an output."""

    def tune(*arguments: object) -> Result:
        out = [] if "--out" in arguments else ["--out", "-"]
        return cli("tune", *arguments, *out)

    return tune


GCR = ("--backend", "gcr", "--compose", "max", "-p", "n_base_clusters=3,4", "-p", "threshold=0.3")


def test_a_preset_is_written_that_cluster_takes(
    call: Callable[..., Result], cli: Callable[..., Result], trials: Path, tmp_path: Path
) -> None:
    out = tmp_path / "mine.json"
    done = call(trials, *GCR, "--out", out)
    assert (done.status, done.out) == (0, "")
    preset = json.loads(out.read_text())
    assert preset["params"] == {"n_base_clusters": 4, "threshold": 0.3}
    assert (preset["name"], preset["backend"]) == ("mine", "gcr")
    assert f"2 inputs of {trials}: cri 1.0000 (0.0000), best of 2 of 2" in preset["source"]
    best, second = (line.split() for line in done.err.splitlines()[-3:-1])
    assert best == ["100.00", "(0.00)", "4", "0.3"]
    assert second[2] == "3" and float(second[0]) < 100
    found = cli("cluster", trials / "00.npz", "--compose", "max", "--preset", out, "--out", "-")
    assert json.loads(found.out)["sets"] == SETS


def test_results_on_standard_output(call: Callable[..., Result], trials: Path) -> None:
    done = call(trials, *GCR, "--metric", "ari")
    preset = json.loads(done.out)
    assert preset["name"] == "gcr-tuned" and ": ari 1.0" in preset["source"]
    assert done.err.split()[0] == "ARI"


def test_a_budget_and_a_seed(call: Callable[..., Result], trials: Path) -> None:
    given = (trials, "--backend", "ac", "--max-set-size", 1, "--budget", 3)
    one, same, other = (call(*given, "--seed", seed) for seed in (1, 1, 2))
    assert (one.out, one.err) == (same.out, same.err)
    assert one.err != other.err
    assert "note: tried 3 of 9 combinations; see --budget\n" in one.err


def test_combinations_that_cannot_be_used_are_told(
    call: Callable[..., Result], trials: Path
) -> None:
    given = ("--backend", "gcr", "--compose", "max", "-p", "n_base_clusters=2,4")
    done = call(trials, *given, "-p", "threshold=0.3", "--num-speakers", 3)
    assert json.loads(done.out)["params"]["n_base_clusters"] == 4
    assert "note: 1 combinations cannot be used, among others: the base" in done.err


def test_the_composition_of_the_model_that_the_files_name(
    call: Callable[..., Result], tmp_path: Path
) -> None:
    from diarize.embedding import CompositionalEmbedding, EmbeddingConfig, save_model

    weights = tmp_path / "five.safetensors"
    save_model(CompositionalEmbedding(EmbeddingConfig(dim=5, hidden=2)), weights)
    folder = tmp_path / "named"
    folder.mkdir()
    write_trial(folder, "a", 0, model=str(weights))
    write_trial(folder, "b", 1, model=str(weights))
    given = ("--backend", "gcr", "-p", "n_base_clusters=4", "-p", "threshold=0.1,0.6")
    assert call(folder, *given).status == 0
    write_trial(folder, "b", 1, model="another")
    call(folder, *given).assert_refused("b.npz: made with another model")
    assert call(folder, *given, "--compose", "max").status == 0


def test_recordings_with_their_turns(
    call: Callable[..., Result], run: Callable[..., Result], talk: Path, tmp_path: Path,
    tiny_weights: Path,
) -> None:  # fmt: skip
    folder = tmp_path / "recordings"
    folder.mkdir()
    shutil.copy(talk, folder / "talk.wav")
    (folder / "talk.rttm").write_text(
        "SPEAKER another-name 1 0.5 5 <NA> <NA> a <NA> <NA>\n"
        "SPEAKER another-name 1 6 5 <NA> <NA> b <NA> <NA>\n"
    )
    out = tmp_path / "mine.json"
    space = ("-p", "n_base_clusters=3,5", "-p", "threshold=none", "-p", "switch=0.1",
             "-p", "overlap=0.1,0.5", "-p", "min_turn=0.3")  # fmt: skip
    given = ("--backend", "gcr", "--model", tiny_weights, *space)
    assert call(folder, *given, "--out", out).status == 0
    preset = json.loads(out.read_text())
    assert preset["params"].keys() == {
        "n_base_clusters", "threshold", "switch", "overlap", "min_turn",
    }  # fmt: skip
    assert "1 inputs of" in preset["source"] and ": der 0." in preset["source"]
    assert run(talk, "--preset", out).status == 0
    for name in ("talk.rttm", "talk.wav"):
        call(folder, *given, "--out", folder / name).assert_refused("is what it is tuned on")
    call(folder, *given, "--metric", "cri").assert_refused("metric cri: not one of der")
    (folder / "talk.wav").unlink()
    call(folder, *given).assert_refused("talk.rttm: no recording of this name beside it")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--backend", "ckn"], "did you mean ckm"),
        (["--metric", "der"], "metric der: not one of cri, ari, accuracy, id-cost, which"),
        (["--budget", "0"], "--budget"),
        (["-p", "set_penalties=1"], "did you mean set_penalty"),
        (["-p", "compose=max"], "-p compose: use --compose"),
        (["-p", "n_speakers=2", "--num-speakers", "3"], "n_speakers is given"),
        (["--compose", "model"], "00.npz: no model is named in it"),
        (["--num-speakers", "30"], "no combination of options can be used: 30 speakers asked for"),
        (["--out", "no/such/folder/x.json"], "cannot write no/such/folder/x.json"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    call: Callable[..., Result], trials: Path, arguments: list[str], reason: str
) -> None:
    compose = [] if "--compose" in arguments else ["--compose", "max"]
    call(trials, *compose, *arguments).assert_refused(reason)


def test_folders_that_cannot_be_used(
    call: Callable[..., Result], trials: Path, tmp_path: Path
) -> None:
    call(tmp_path / "nowhere").assert_refused("nowhere: no such folder")
    call(trials / "00.npz").assert_refused("00.npz: not a folder")
    empty = tmp_path / "empty"
    empty.mkdir()
    call(empty).assert_refused("empty: neither NAME.npz with NAME.json nor NAME.rttm in it")
    (trials / "01.json").write_text('{"sets": [[0]]}')
    call(trials, *GCR).assert_refused("01.npz: 22 rows, but true sets of 1")
    (trials / "01.json").unlink()
    call(trials, *GCR).assert_refused("cannot read", "01.json")
    (trials / "x.rttm").write_text("")
    call(trials, *GCR).assert_refused("on vectors or on recordings")
