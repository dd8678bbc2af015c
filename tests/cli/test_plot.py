from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Cli = Callable[..., Any]  # the fixture `cli`


@pytest.fixture
def rttm(repo_root: Path) -> str:
    return str(repo_root / "egs" / "conversation.rttm")


def test_it_draws_a_timeline(cli: Cli, rttm: str, tmp_path: Path) -> None:
    out = tmp_path / "talk.svg"
    assert cli("plot", "timeline", rttm, "--out", out).status == 0
    alone = out.read_bytes()
    command = ["plot", "timeline", rttm, "--out", str(out), "--reference", rttm]
    assert cli(*command).status == 0
    assert len(out.read_bytes()) > len(alone) > 1000


def test_a_reference_of_another_name(cli: Cli, rttm: str, tmp_path: Path) -> None:
    out, other = tmp_path / "talk.svg", tmp_path / "other.rttm"
    text = Path(rttm).read_text()
    other.write_text(text.replace(" conversation ", " other "))
    drawn = cli("plot", "timeline", rttm, "--out", out, "--reference", other)
    assert "one recording on either side: other is drawn as conversation" in drawn.err
    other.write_text(other.read_text() + text.replace(" conversation ", " another "))
    refused = cli("plot", "timeline", rttm, "--out", out, "--reference", other)
    refused.assert_refused(other, "no turns of conversation")


@pytest.mark.parametrize(
    ("file", "out", "reason"),
    [("missing.rttm", "a.svg", "missing.rttm"), (None, "a.bmp", "a.bmp"), (None, "no/a.svg", "no")],
)
def test_what_cannot_be_used_is_refused_in_one_line(
    cli: Cli, rttm: str, tmp_path: Path, file: str | None, out: str, reason: str
) -> None:
    command = ["plot", "timeline", file or rttm, "--out", str(tmp_path / out)]
    cli(*command).assert_refused(reason)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def table(tmp_path: Path) -> list[str]:
    np.savez(tmp_path / "x.npz", embeddings=np.eye(3, 4, dtype=np.float32))
    (tmp_path / "x.json").write_text('{"sets": [[0], [1], [0, 1]]}')
    return [str(tmp_path / name) for name in ("x.npz", "x.json")]


def test_it_draws_clusters(cli: Cli, table: list[str], tmp_path: Path) -> None:
    assert cli("plot", "clusters", *table, "--out", tmp_path / "x.png").status == 0
    assert (tmp_path / "x.png").stat().st_size > 1000


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
    cli: Cli, table: list[str], tmp_path: Path, sets: str, out: str, reason: str
) -> None:
    Path(table[1]).write_text(sets)
    cli("plot", "clusters", *table, "--out", tmp_path / out).assert_refused(reason)
    assert len(list(tmp_path.iterdir())) == 2


def test_it_draws_scores(cli: Cli, rttm: str, tmp_path: Path) -> None:
    (tmp_path / "scores.json").write_text(cli("score", rttm, rttm, "--json").out)
    for sources in ([rttm, rttm], [str(tmp_path / "scores.json")]):
        assert cli("plot", "score", *sources, "--out", tmp_path / "x.svg").status == 0
        assert (tmp_path / "x.svg").stat().st_size > 1000


def test_scores_that_cannot_be_read_are_refused_in_one_line(
    cli: Cli, rttm: str, tmp_path: Path
) -> None:
    cli("plot", "score", rttm, "--out", tmp_path / "x.svg").assert_refused(
        "conversation.rttm: not JSON: give REF and HYP, or what `diarize score --json` printed"
    )


def test_standard_input_is_one_of_the_two(cli: Cli, tmp_path: Path) -> None:
    out = ("--out", tmp_path / "x.svg")
    refused = "standard input: holds"
    cli("plot", "timeline", "-", "--reference", "-", *out).assert_refused(refused, "not both")
    cli("plot", "score", "-", "-", *out).assert_refused(refused, "not both")
    assert not list(tmp_path.iterdir())
