"""What the pages of the documentation show works as they say; the site itself is built by CI."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from diarize.cli import run_command
from diarize.clustering import BACKENDS

from .pages import blocks, commands, expanded

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path.name for path in DOCS.glob("*.md"))
GENERATED = {"commands.md"}


def text_of(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


@pytest.mark.usefixtures("furnished")
@pytest.mark.parametrize("name", [name for name in PAGES if commands(text_of(name))])
def test_every_command_works(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(text_of(name)):
        status = run_command([part for argument in command for part in expanded(argument)])
        assert status == 0, (command, capsys.readouterr().err)


@pytest.mark.usefixtures("furnished")
@pytest.mark.parametrize("name", [name for name in PAGES if blocks(text_of(name), "python")])
def test_every_python_block_works(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks(text_of(name), "python"):
        exec(compile(block, name, "exec"), {"__name__": "page"})
        assert capsys.readouterr().out


@pytest.mark.filterwarnings("default")  # a note, to those who run a command
def test_every_output_is_what_is_printed() -> None:
    """Words to the letter, figures nearly: times may differ by machine, and speed does."""
    script = runpy.run_path(str(DOCS / "outputs.py"))
    made, shown = script["outputs"](), []
    for page in script["PAGES"]:
        for _, name, text, _ in script["PLACE"].findall(page.read_text(encoding="utf-8")):
            shown.append(name)
            words, figures = parted(text)
            expected, exact = parted(made[name])
            assert words == expected, f"{page.name}: {name}; python docs/outputs.py"
            np.testing.assert_allclose(figures, exact, rtol=0.1, atol=0.3, err_msg=name)
    assert {*shown} == {*made}


def parted(text: str) -> tuple[list[str], list[float]]:
    """The words of an output, and its figures without the time that it took."""
    text = re.sub(r"real-time factor \S+ on \S+", "", text)
    # Rules and blanks are as wide as figures are.
    return re.findall(r"[^\W\d]+", text), [float(f) for f in re.findall(r"\d+\.?\d*", text)]


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str, repo_root: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", text_of(name), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", prose):
        assert target.startswith("http") or (DOCS / target).exists(), target


def test_the_options_of_run_are_those_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", "--help"]) == 0
    known = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))
    rows = [line for line in text_of("options.md").splitlines() if line.startswith("| `-")]
    assert len(rows) >= 20
    for row in rows:
        named = set(re.findall(r"--[a-z][a-z-]*", row.split(" | ")[0]))
        assert named and named <= known, row
    (backends,) = (row.split(" | ")[1] for row in rows if row.startswith("| `--backend"))
    assert set(re.findall(r"`([a-z]+)`", backends)) == set(BACKENDS)


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
    return runpy.run_path(str(DOCS / "hooks.py"))


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
