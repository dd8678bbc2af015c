from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diarize.cli import run_command


@pytest.fixture
def rttm(repo_root: Path) -> str:
    return str(repo_root / "egs" / "conversation.rttm")


def test_it_draws_a_timeline(rttm: str, tmp_path: Path) -> None:
    out = tmp_path / "talk.svg"
    assert run_command(["plot", "timeline", rttm, "--out", str(out)]) == 0
    alone = out.read_bytes()
    command = ["plot", "timeline", rttm, "--out", str(out), "--reference", rttm]
    assert run_command(command) == 0
    assert len(out.read_bytes()) > len(alone) > 1000


@pytest.mark.parametrize(
    ("file", "out", "reason"),
    [("missing.rttm", "a.svg", "missing.rttm"), (None, "a.bmp", "a.bmp"), (None, "no/a.svg", "no")],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    rttm: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    file: str | None,
    out: str,
    reason: str,
) -> None:
    command = ["plot", "timeline", file or rttm, "--out", str(tmp_path / out)]
    assert run_command(command) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert reason in message
    assert not list(tmp_path.iterdir())


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    np.savez(tmp_path / "x.npz", embeddings=np.eye(3, 4, dtype=np.float32))
    (tmp_path / "x.json").write_text('{"sets": [[0], [1], [0, 1]]}')
    return [str(tmp_path / name) for name in ("x.npz", "x.json")]


def test_it_draws_clusters(table: list[str], tmp_path: Path) -> None:
    for suffix in ("svg", "png", "pdf"):
        out = tmp_path / f"x.{suffix}"
        assert run_command(["plot", "clusters", *table, "--out", str(out)]) == 0
        assert out.stat().st_size > 1000


@pytest.mark.parametrize(
    ("sets", "out", "reason"),
    [
        ('{"sets": [[0]]}', "a.svg", "x.json: 1 sets, but"),
        ('{"sets": 3}', "a.svg", "x.json: no list 'sets'"),
        ('{"sets": [[0], [1], []]}', "a.bmp", "a.bmp: a picture ends in"),
        ('{"sets": [[0], [1], []]}', "no/a.svg", "cannot write"),
    ],
)
def test_clusters_that_cannot_be_drawn_are_refused_in_one_line(
    table: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    sets: str,
    out: str,
    reason: str,
) -> None:
    Path(table[1]).write_text(sets)
    assert run_command(["plot", "clusters", *table, "--out", str(tmp_path / out)]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert reason in message
    assert len(list(tmp_path.iterdir())) == 2


def test_it_draws_scores(rttm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["score", rttm, rttm, "--json"]) == 0
    (tmp_path / "scores.json").write_text(capsys.readouterr().out)
    for sources in ([rttm, rttm], [str(tmp_path / "scores.json")]):
        for suffix in ("svg", "png", "pdf"):
            out = tmp_path / f"x.{suffix}"
            assert run_command(["plot", "score", *sources, "--out", str(out)]) == 0
            assert out.stat().st_size > 1000


def test_scores_that_cannot_be_read_are_refused_in_one_line(
    rttm: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["plot", "score", rttm, "--out", str(tmp_path / "x.svg")]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "conversation.rttm: not JSON" in message
