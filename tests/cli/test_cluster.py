"""`diarize cluster`: vectors in, sets out."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from diarize.cli import run_command

# Two speakers alone, and both together where max, sum and mean all put them.
ROWS = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 4 + [[1.0, 1.0]] * 2, dtype=np.float32)
SETS = [[0]] * 4 + [[1]] * 4 + [[0, 1]] * 2


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    np.savez(tmp_path / "x.npz", embeddings=ROWS)
    return str(tmp_path / "x.npz")


def test_sets_are_found_and_written(vectors: str, tmp_path: Path) -> None:
    out = tmp_path / "x.json"
    command = ["cluster", vectors, "--backend", "ckm", "--num-speakers", "2", "--compose", "max"]
    assert run_command([*command, "-p", "n_restarts=8", "--seed", "1", "--out", str(out)]) == 0
    assert json.loads(out.read_text()) == {"backend": "ckm", "n_speakers": 2, "sets": SETS}


def test_single_speakers_need_no_composition(
    vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["cluster", vectors, "--backend", "ac", "--num-speakers", "3", "--max-set-size", "1"]
    assert run_command([*command, "--out", "-"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sets"] == [[0]] * 4 + [[1]] * 4 + [[2]] * 2


def test_the_oracle_answers_the_truth(vectors: str, tmp_path: Path) -> None:
    truth, out = tmp_path / "truth.json", tmp_path / "out.json"
    truth.write_text(json.dumps({"sets": SETS}))
    command = ["cluster", vectors, "--backend", "oracle", "--compose", "mean", "--out", str(out)]
    assert run_command([*command, "--truth", str(truth)]) == 0
    assert json.loads(out.read_text())["sets"] == SETS


def test_the_model_that_the_file_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    from diarize.embedding import CompositionalEmbedding, EmbeddingConfig, save_model
    from diarize.embedding.weights import sha256

    torch.manual_seed(0)
    weights, table = tmp_path / "tiny.safetensors", tmp_path / "x.npz"
    save_model(CompositionalEmbedding(EmbeddingConfig(dim=2, hidden=2)), weights)
    unit = ROWS / np.linalg.norm(ROWS, axis=1, keepdims=True)
    known = {"model": str(weights), "model_sha256": sha256(weights)}
    command = ["cluster", str(table), "--num-speakers", "2", "-p", "n_restarts=8", "--out", "-"]

    np.savez(table, embeddings=unit, **known)  # g of a model that was not trained is the mean
    assert run_command(command) == 0
    assert json.loads(capsys.readouterr().out)["sets"] == SETS

    np.savez(table, embeddings=unit, **{**known, "model_sha256": "0" * 64})
    assert run_command(command) == 2
    assert "made with other weights than those of" in capsys.readouterr().err

    np.savez(table, embeddings=np.eye(3), **known)
    assert run_command(command) == 2
    assert "vectors of 3 dimensions, but" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--backend", "ckn"], "did you mean ckm"),
        (["-p", "n_initt=3"], "no option 'n_initt'"),
        (["-p", "n_speakers=3"], "-p n_speakers: use --num-speakers"),
        (["--num-speakers", "11", "--compose", "max"], "11 speakers asked for"),
        (["--num-speakers", "0", "--compose", "max"], "--num-speakers"),
        (["--max-set-size", "0"], "--max-set-size"),
        (["--compose", "median"], "compose median: not one of model, max, sum, mean"),
        ([], "no model is named in it; give --compose max, sum, mean, or --max-set-size 1"),
        (["--backend", "oracle", "--compose", "max"], "backend oracle needs the true sets"),
        (["--truth", "missing.json"], "cannot read missing.json"),
        (["--out", "no/such/folder/x.json"], "cannot write no/such/folder/x.json"),
    ],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    vectors: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    reason: str,
) -> None:
    out = [] if "--out" in arguments else ["--out", str(tmp_path / "out.json")]
    assert run_command(["cluster", vectors, *arguments, *out]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert reason in captured.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["x.npz"]


def test_a_truth_of_another_length(
    vectors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "truth.json").write_text('{"sets": [[0]]}')
    command = ["cluster", vectors, "--backend", "oracle", "--compose", "max", "--out", "-"]
    assert run_command([*command, "--truth", str(tmp_path / "truth.json")]) == 2
    assert "the truth has 1 rows" in capsys.readouterr().err
