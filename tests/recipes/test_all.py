"""The command that runs every recipe, on stand-ins in a repository of its own."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from .conftest import RECIPES, run_script

REPOSITORY = RECIPES.parent


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A repository with the command and nothing else, at a commit."""
    shutil.copytree(RECIPES / "steps", tmp_path / "house" / "recipes" / "steps")
    shutil.copy(RECIPES / "all.sh", tmp_path / "house" / "recipes")
    (tmp_path / "house" / "data" / "speech").mkdir(parents=True)
    (tmp_path / "house" / ".gitignore").write_text("/data/\n/work/\n__pycache__/\n")
    write_table(
        tmp_path / "house",
        (
            "one",
            "1",
            "speech",
            "ONE.md",
            'echo "| ${data##*/} |"; echo said >&2; echo x >> "$work/n"',
        ),
        ("two", "90", "speech rooms", "TWO.md", "false"),
        ("three", "2", "module:json", "THREE.md", '[ -e "$data/ready" ]; echo "| 3 |"'),
        ("four", "3", "module:nobody_has_it", "FOUR.md", "true"),
    )
    return tmp_path / "house"


def write_table(house: Path, *rows: tuple[str, ...]) -> None:
    with (house / "recipes" / "all.tsv").open("w") as file:
        for row in (("recipe", "minutes", "needs", "page", "command"), *rows):
            print(*row, sep="\t", file=file)
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "x", "--allow-empty"]):
        subprocess.run(["git", *command], cwd=house, check=True)


def run(house: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return run_script(house / "recipes" / "all.sh", "--data", "data", *options)


def test_what_would_run_is_said(house: Path) -> None:
    done = run(house, "--dry-run")
    assert (done.returncode, done.stdout) == (0, "")
    assert [line.split(None, 2) for line in done.stderr.splitlines()] == [
        ["0", "one", "about 1 minutes"],
        ["1", "two", "left out: no data/rooms"],
        ["2", "three", "about 2 minutes"],
        ["3", "four", "left out: no the module nobody_has_it"],
    ]
    assert not list((house / "work").rglob("tables.md"))


def test_what_is_finished_at_a_commit_is_not_run_again(house: Path) -> None:
    first = run(house)
    assert first.returncode == 1, "the third needs something else"
    assert "three failed: " in first.stderr and "log" in first.stderr
    (head,) = (path.name for path in (house / "work" / "all").iterdir())
    own = house / "work" / "all" / head
    tables = (own / "one" / "tables.md").read_text()
    assert tables.startswith(f"<!-- commit {head}: echo") and tables.endswith("\n| data |\n")
    assert (own / "one" / "log").read_text() == "said\n"
    assert f"| one | {own}/one/tables.md | ONE.md | {head} | 0 |" in first.stdout
    assert "three" not in first.stdout

    (house / "data" / "ready").touch()
    second = run(house)
    assert second.returncode == 0, second.stderr
    assert "one                    finished at this commit" in second.stderr
    assert (own / "one" / "n").read_text() == "x\n"
    assert (own / "three" / "tables.md").read_text().endswith("-->\n\n| 3 |\n")
    assert "| one |" in second.stdout and "| three |" in second.stdout

    assert run(house, "--only", "one", "--again").returncode == 0
    assert (own / "one" / "n").read_text() == "x\nx\n"
    write_table(house, ("one", "1", "-", "ONE.md", "true"))
    other = run(house, "--dry-run")
    assert "one                    took 0 minutes" in other.stderr


def test_a_choice_of_recipes(house: Path) -> None:
    by_number = run(house, "--dry-run", "--stage", "2", "--stop-stage", "2").stderr
    by_name = run(house, "--dry-run", "--only", "three").stderr
    assert by_number == by_name and by_name.split()[:2] == ["2", "three"]
    wrong = run(house, "--only", "none-of-them", "--dry-run")
    assert wrong.returncode == 2 and "no recipe is called none-of-them" in wrong.stderr


def test_a_changed_tree_is_never_finished(house: Path) -> None:
    with (house / "recipes" / "all.sh").open("a") as script:
        script.write("# changed\n")
    for _ in range(2):
        done = run(house, "--only", "one")
        assert done.returncode == 0 and "the tree is not as committed" in done.stderr
    (counted,) = (house / "work" / "all").glob("*-dirty/one/n")
    assert counted.read_text() == "x\nx\n"


def rows() -> list[dict[str, str]]:
    with (RECIPES / "all.tsv").open() as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_recipe_is_in_the_table() -> None:
    commands = "\n".join(row["command"] for row in rows())
    for script in RECIPES.glob("*/run.sh"):
        assert (
            f"recipes/{script.parent.name}/run.sh" in commands or script.parent.name == "embedding"
        )
    assert "recipes/embedding/report.py" in commands


@pytest.mark.parametrize("row", rows(), ids=lambda row: row["recipe"])
def test_every_line_names_what_there_is(row: dict[str, str]) -> None:
    assert int(row["minutes"]) > 0
    assert (REPOSITORY / row["page"]).is_file()
    for script in re.findall(r"(?:recipes|benchmarks)/[\w/]+\.(?:sh|py)", row["command"]):
        assert (REPOSITORY / script).is_file(), script
    for script, told in re.findall(r"(recipes/\w+/run\.sh)([^;]*)", row["command"]):
        defaults = (REPOSITORY / script).read_text().partition("parse_options.sh")[0]
        for option in re.findall(r" --([a-z-]+)", told):
            assert re.search(rf"^[^#]*\b{option.replace('-', '_')}=", defaults, re.M), option
