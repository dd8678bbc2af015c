"""What the pages of the documentation show works as they say; the site itself is built by CI."""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from diarize.cli import run_command
from diarize.clustering import BACKENDS

from .pages import blocks, commands, expanded, furnish

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
GENERATED = {"commands.md"}


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.fixture
def folder(repo_root: Path, talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    furnish(tmp_path, repo_root, talk)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", [name for name in PAGES if commands(text_of(name))])
def test_every_command_works(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(text_of(name)):
        status = run_command([part for argument in command for part in expanded(argument)])
        assert status == 0, (command, capsys.readouterr().err)


@pytest.mark.parametrize("name", [name for name in PAGES if blocks(text_of(name), "python")])
def test_every_python_block_works(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for block in blocks(text_of(name), "python"):
        exec(compile(block, name, "exec"), {"__name__": "page"})
        assert capsys.readouterr().out


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str, repo_root: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", text_of(name), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
        made = target in GENERATED or target.startswith("figures/")
        assert target.startswith("http") or made or (DOCS / target).exists(), target


@pytest.mark.parametrize("name", PAGES)
def test_every_option_exists(name: str, hooks: dict[str, Any]) -> None:
    known = set(re.findall(r"--[a-z][a-z-]*", hooks["commands_page"]())) | {"--help"}
    prose = re.sub(r"^```.*?^```", "", text_of(name), flags=re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(--[a-z][a-z-]*)", prose)) <= known


def test_every_page_is_in_the_navigation(repo_root: Path) -> None:
    text = (repo_root / "mkdocs.yml").read_text(encoding="utf-8")
    (nav,) = re.findall(r"^nav:\n.*", text, re.MULTILINE | re.DOTALL)
    listed = set(re.findall(r"[\w-]+\.md", str(yaml.safe_load(nav))))
    assert listed == set(PAGES) | GENERATED


@pytest.fixture(scope="module")
def hooks() -> dict[str, Any]:
    """What the site's build makes, without the site."""
    sys.path.insert(0, str(DOCS))
    try:
        return runpy.run_path(str(DOCS / "hooks.py"))
    finally:
        sys.path.remove(str(DOCS))


def test_every_command_is_described(hooks: dict[str, Any]) -> None:
    page = hooks["commands_page"]()
    for command in ("run", "report", "plot score", "export", "train embedding", "completion"):
        assert f"\n## diarize {command}\n" in page
    assert "`--num-speakers N` | Number of speakers." in page


def test_every_backend_is_described(hooks: dict[str, Any]) -> None:
    rows = hooks["backends_table"]().splitlines()[2:]
    assert [row.split("`")[1] for row in rows] == list(BACKENDS)
    assert hooks["BACKENDS_PLACE"] in text_of("backends.md")
    page = hooks["on_page_markdown"]("see [the results](../recipes/a.md#b) and `x`")
    assert page == "see the results (`recipes/a.md`) and `x`"
