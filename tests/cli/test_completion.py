from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from diarize.cli import run_command
from diarize.cli.completion import SHELLS


def completed(words: str, repo_root: Path) -> list[str]:
    """What bash is offered for the last of `words`."""
    asked = {
        "_DIARIZE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(words.count(" ")),
    }
    result = subprocess.run(
        [sys.executable, "-m", "diarize"],
        env={**os.environ, **asked},
        cwd=repo_root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert not result.stderr
    return result.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("diarize plot ", {"clusters", "score", "timeline"}),
        ("diarize run --num", {"--num-speakers"}),
    ],
)
def test_commands_and_options_are_completed(words: str, offered: set[str], repo_root: Path) -> None:
    assert set(completed(words, repo_root)) == offered


@pytest.mark.parametrize("shell", SHELLS)
def test_each_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "_DIARIZE_COMPLETE" in script
    if shell in {"bash", "zsh"} and shutil.which(shell):
        subprocess.run([shell, "-n"], input=script, text=True, check=True)


def test_other_shells_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["completion", "tcsh"]) == 2
    assert "shell tcsh: not one of bash, zsh, fish, powershell" in capsys.readouterr().err
