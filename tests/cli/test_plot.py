from __future__ import annotations

from pathlib import Path

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
