"""What the README shows works as it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from diarize.cli import run_command
from diarize.formats import read_rttm

from .pages import blocks, commands, expanded


@pytest.fixture(scope="module")
def readme(repo_root: Path) -> str:
    return (repo_root / "README.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("furnished")
def test_every_command_works(readme: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = commands(readme)
    assert len(shown) >= 5
    for command in shown:
        arguments = [part for argument in command for part in expanded(argument)]
        status = run_command(arguments)
        assert status == 0, (command, capsys.readouterr().err)
    assert set(read_rttm("conversation.rttm")) == {"conversation"}


@pytest.mark.usefixtures("furnished")
def test_every_python_block_works(readme: str, capsys: pytest.CaptureFixture[str]) -> None:
    shown = blocks(readme, "python")
    assert shown
    for block in shown:
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
        assert capsys.readouterr().out


def test_every_option_exists(readme: str, capsys: pytest.CaptureFixture[str]) -> None:
    known: dict[str, set[str]] = {}
    names = (
        "run",
        "stream",
        "score",
        "embed",
        "cluster",
        "tune",
        "simulate",
        "convert",
        "label",
        "info",
        "plot timeline",
    )
    for command in names:
        assert run_command([*command.split(), "--help"]) == 0
        known[command] = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    prose = re.sub(r"^```.*?^```", "", readme, flags=re.MULTILINE | re.DOTALL)
    mentioned = set(re.findall(r"`(--[a-z][a-z-]*)", prose))
    assert mentioned <= set.union(*known.values())


def test_it_is_read_in_one_go(readme: str) -> None:
    assert len(readme.splitlines()) <= 150


def test_every_link_leads_somewhere(readme: str, repo_root: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", readme):
        if not target.startswith("http"):
            assert (repo_root / target).exists(), target
