"""`diarize cluster`: vectors in, sets out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diarize.clustering import BACKENDS, make

Cli = Callable[..., Any]  # the fixture `cli`

# Two speakers alone, and both together where max, sum and mean all put them.
ROWS = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 4 + [[1.0, 1.0]] * 2, dtype=np.float32)
SETS = [[0]] * 4 + [[1]] * 4 + [[0, 1]] * 2


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    np.savez(tmp_path / "x.npz", embeddings=ROWS)
    return str(tmp_path / "x.npz")


def test_sets_are_found_and_written(cli: Cli, vectors: str, tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    command = ["cluster", vectors, "--backend", "ckm", "--num-speakers", "2", "--compose", "max"]
    assert cli(*command, "-p", "n_restarts=8", "--seed", "1", "--out", out).status == 0
    assert json.loads(out.read_text()) == {"backend": "ckm", "n_speakers": 2, "sets": SETS}


def test_single_speakers_need_no_composition(cli: Cli, vectors: str) -> None:
    command = ["cluster", vectors, "--backend", "ac", "--num-speakers", "3", "--max-set-size", "1"]
    found = json.loads(cli(*command, "--out", "-").out)
    assert found["sets"] == [[0]] * 4 + [[1]] * 4 + [[2]] * 2


def test_the_oracle_answers_the_truth(cli: Cli, vectors: str, tmp_path: Path) -> None:
    truth, out = tmp_path / "truth.json", tmp_path / "out.json"
    truth.write_text(json.dumps({"sets": SETS}))
    command = ["cluster", vectors, "--backend", "oracle", "--compose", "mean", "--out", str(out)]
    assert cli(*command, "--truth", truth).status == 0
    assert json.loads(out.read_text())["sets"] == SETS


def test_the_model_that_the_file_names(cli: Cli, tmp_path: Path) -> None:
    import torch

    from diarize.embedding import CompositionalEmbedding, EmbeddingConfig, save_model
    from diarize.storage.files import file_sha256

    torch.manual_seed(0)
    weights, table = tmp_path / "tiny.safetensors", tmp_path / "x.npz"
    save_model(CompositionalEmbedding(EmbeddingConfig(dim=2, hidden=2)), weights)
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    known = {"model": str(weights), "model_sha256": file_sha256(weights)}
    command = ["cluster", str(table), "--num-speakers", "2", "-p", "n_restarts=8", "--out", "-"]

    np.savez(table, embeddings=unit, **known)  # g of a model that was not trained is the mean
    assert json.loads(cli(*command).out)["sets"] == SETS

    np.savez(table, embeddings=unit, **{**known, "model_sha256": "0" * 64})
    cli(*command).assert_refused("made with other weights than those of")

    np.savez(table, embeddings=np.eye(3), **known)
    cli(*command).assert_refused("vectors of 3 dimensions, but")


def test_no_g_is_asked_for_where_none_is_used(cli: Cli, vectors: str) -> None:
    assert cli("cluster", vectors, "--backend", "ac", "--out", "-").err == ""


def test_what_is_known_of_vectors_is_that_of_their_model(
    cli: Cli, tmp_path: Path, tiny_weights: Path
) -> None:
    table = tmp_path / "x.npz"
    command = ["cluster", str(table), "--backend", "ac", "--out", "-"]
    rng = np.random.default_rng(0)
    basis, who = np.linalg.qr(rng.normal(size=(16, 5)))[0].T, rng.integers(4, size=200)
    centers = basis[0] + 0.25 * basis[1:]
    rows = centers[who] + 0.005 * rng.normal(size=(200, 16))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)

    np.savez(table, embeddings=rows)  # as far as is known, of anything
    assert json.loads(cli(*command).out)["n_speakers"] == 4
    np.savez(table, embeddings=rows, model=str(tiny_weights))  # one voice scatters more
    assert json.loads(cli(*command).out)["n_speakers"] == 1
    np.savez(table, embeddings=rows, model="gone")
    told = cli(*command)
    assert told.status == 0
    assert json.loads(told.out)["n_speakers"] == 4
    assert "gone: no such model" in told.err
    assert "clustered as vectors of which nothing is known" in told.err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["-p", "scatter=3"], "-p scatter: use a FILE.npz that names its model"),
        (["--backend", "ckn"], "did you mean ckm"),
        (["-p", "n_initt=3"], "no option 'n_initt'"),
        (["-p", "name=3"], "no option 'name'"),
        (["-p", "n_speakers=3"], "-p n_speakers: use --num-speakers"),
        (["--num-speakers", "11", "--compose", "max"], "11 speakers asked for"),
        (["--num-speakers", "0", "--compose", "max"], "--num-speakers"),
        (
            ["--num-speakers", "2", "--min-speakers", "3", "--compose", "max"],
            "--num-speakers 2 contradicts --min-speakers 3",
        ),
        (["--max-set-size", "0"], "--max-set-size"),
        (["--compose", "median"], "compose median: not one of model, max, sum, mean"),
        ([], "no model is named in it; give --compose max, sum, mean, or --max-set-size 1"),
        (["--backend", "oracle", "--compose", "max"], "backend oracle needs the true sets"),
        (["--truth", "missing.json"], "cannot read missing.json"),
        (["--out", "no/such/folder/x.json"], "cannot write no/such/folder/x.json"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    cli: Cli, vectors: str, tmp_path: Path, arguments: list[str], reason: str
) -> None:
    out = [] if "--out" in arguments else ["--out", str(tmp_path / "out.json")]
    cli("cluster", vectors, *arguments, *out).assert_refused(reason)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npz"]


def test_what_is_read_is_not_replaced(cli: Cli, vectors: str, tmp_path: Path) -> None:
    truth, preset = tmp_path / "truth.json", tmp_path / "p.json"
    truth.write_text(json.dumps({"sets": SETS}))
    preset.write_text(json.dumps({"name": "p", "backend": "ckm", "params": {}}))
    for out, what in (
        (truth, "the file of --truth"), (preset, "the preset"), (vectors, "the vectors")
    ):  # fmt: skip
        given = ["--truth", truth, "--preset", preset, "--compose", "max", "--out", out]
        cli("cluster", vectors, *given).assert_refused(f"{out}: is {what}, which the sets would")
    assert json.loads(truth.read_text()) == {"sets": SETS}


def test_a_truth_of_another_length(cli: Cli, vectors: str, tmp_path: Path) -> None:
    (tmp_path / "truth.json").write_text('{"sets": [[0]]}')
    command = ["cluster", vectors, "--backend", "oracle", "--compose", "max", "--out", "-"]
    cli(*command, "--truth", tmp_path / "truth.json").assert_refused("the truth has 1 rows")


# What every backend must make of odd tables, through the command.

FAST = {"ckm": ["-p", "n_restarts=2", "-p", "max_speakers=4"]}

SINGLE, DOUBLE = np.float32, np.float64
ODD = {
    "no row": np.zeros((0, 3), SINGLE),
    "one row": np.eye(1, 3, dtype=SINGLE),
    "two rows": np.eye(2, 3, dtype=SINGLE),
    "three rows": np.eye(3, dtype=SINGLE),
    "three rows, float64": np.eye(3, dtype=DOUBLE),
    "equal rows": np.repeat(np.eye(1, 3, dtype=SINGLE), 6, axis=0),
    "zeros": np.zeros((5, 3), DOUBLE),
    "duplicates": np.repeat(np.eye(3, dtype=SINGLE), 3, axis=0),
    "one column": np.arange(5, dtype=DOUBLE)[:, None],
    "large values": np.eye(4, 3, dtype=SINGLE) * 1e30,
    "small values": np.eye(4, 3, dtype=SINGLE) * 1e-30,
    "integers": np.eye(4, 3, dtype=np.int16),
}

backends = pytest.mark.parametrize("backend", sorted(BACKENDS))


def clustered(
    backend: str, rows: np.ndarray, tmp_path: Path, *more: str, out: str = "-"
) -> list[str]:
    """The command for these rows, with a truth where the backend needs one."""
    np.savez(tmp_path / "odd.npz", embeddings=rows)
    truth = []
    if make(backend).needs_truth:
        sets = [[i % 2] for i in range(len(rows))]
        (tmp_path / "truth.json").write_text(json.dumps({"sets": sets}))
        truth = ["--truth", str(tmp_path / "truth.json")]
    return [
        "cluster", str(tmp_path / "odd.npz"), "--backend", backend, "--compose", "mean",
        "--out", out, *truth, *FAST.get(backend, []), *more,
    ]  # fmt: skip


@backends
@pytest.mark.parametrize("case", ODD)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_odd_tables_are_clustered(cli: Cli, backend: str, case: str, tmp_path: Path) -> None:
    rows = ODD[case]
    found = json.loads(cli(*clustered(backend, rows, tmp_path)).out)
    assert len(found["sets"]) == len(rows)
    assert all(found["sets"])  # nobody is in no set
    used = {speaker for members in found["sets"] for speaker in members}
    assert used == set(range(found["n_speakers"]))
    if case in ("equal rows", "zeros") and not make(backend).needs_truth:
        assert all(members == found["sets"][0] for members in found["sets"])


def test_many_rows_through_a_sample(cli: Cli, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = np.repeat(np.eye(3), 500, axis=0) + generator.normal(0, 0.02, (1500, 3))
    command = clustered("ac", rows, tmp_path, "--num-speakers", "3", "-p", "sample_size=60")
    captured = cli(*command, "--max-set-size", "1")
    assert captured.status == 0
    assert "clustered 60 of 1500 rows; the others went to the nearest set" in captured.err
    assert json.loads(captured.out)["sets"] == [[i // 500] for i in range(1500)]


def test_the_number_is_bounded(cli: Cli, vectors: str) -> None:
    command = ["cluster", vectors, "--backend", "ac", "--max-set-size", "1", "--out", "-"]
    for bound, found in (("--min-speakers", 3), ("--max-speakers", 1)):
        assert json.loads(cli(*command, bound, found).out)["n_speakers"] == found


def test_what_only_python_can_give(cli: Cli, vectors: str) -> None:
    command = ["cluster", vectors, "--backend", "gcr", "--compose", "mean", "--out", "-"]
    refused = cli(*command, "-p", "base=foo")
    assert (refused.status, refused.err) == (2, "diarize: error: -p base: use GCR in Python\n")
    assert "base," not in cli(*command, "-p", "foo=1").err


def test_truth_that_nobody_needs(cli: Cli, vectors: str, tmp_path: Path) -> None:
    truth = tmp_path / "truth.json"
    truth.write_text(json.dumps({"sets": SETS}))
    command = ["cluster", vectors, "--backend", "gcr", "--compose", "mean", "--out", "-"]
    assert "truth.json: not used" in cli(*command, "--truth", truth).err


def test_numbers_of_any_size(cli: Cli, vectors: str) -> None:
    command = ["cluster", vectors, "--backend", "cap", "--compose", "mean", "--out", "-"]
    assert cli(*command, "-p", f"set_penalty={10**30}").status == 0
