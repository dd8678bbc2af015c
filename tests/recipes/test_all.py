"""The command that runs every recipe, on stand-ins in a repository of its own."""

from __future__ import annotations

import ast
import csv
import re
import shutil
import subprocess
from pathlib import Path

import grimp
import pytest

from .conftest import RECIPES, run_script

REPOSITORY = RECIPES.parent


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A repository with the command and nothing else, at a commit."""
    shutil.copytree(RECIPES / "steps", tmp_path / "house" / "recipes" / "steps")
    shutil.copy(RECIPES / "all.sh", tmp_path / "house" / "recipes")
    (tmp_path / "house" / "data" / "speech").mkdir(parents=True)
    for folder in ("a", "b"):
        (tmp_path / "house" / "diarize" / folder).mkdir(parents=True)
        (tmp_path / "house" / "diarize" / folder / "one.py").write_text("")
    (tmp_path / "house" / ".gitignore").write_text("/data/\n/work/\n__pycache__/\n")
    write_table(
        tmp_path / "house",
        (
            "one",
            "1",
            "speech",
            "-",
            "ONE.md",
            'echo "| ${data##*/} |"; echo said >&2; echo x >> "$work/n"  # no commit x, code y',
        ),
        ("two", "90", "speech rooms", "-", "TWO.md", "false"),
        (
            "three",
            "2",
            "module:json",
            "diarize/a",
            "THREE.md",
            '[ -e "$data/ready" ]; echo "| 3 |"',
        ),
        ("four", "3", "module:nobody_has_it", "-", "FOUR.md", "true"),
    )
    return tmp_path / "house"


def write_table(house: Path, *rows: tuple[str, ...]) -> None:
    with (house / "recipes" / "all.tsv").open("w") as file:
        for row in (("recipe", "minutes", "needs", "rests", "page", "command"), *rows):
            print(*row, sep="\t", file=file)
    commit(house)


def commit(house: Path) -> None:
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
    assert not list((house / "recipes" / "tables").iterdir())


def test_tables_of_the_present_code_are_not_made_again(house: Path) -> None:
    first = run(house)
    assert first.returncode == 1, "the third needs something else"
    assert "three failed: " in first.stderr and "log" in first.stderr
    assert first.stdout == "recipes/tables/one.md\n"
    tables = (house / "recipes" / "tables" / "one.md").read_text()
    head = re.match(r"<!-- commit (\w{7,}), code (\w{10}), minutes \d+: echo", tables)
    assert head and tables.endswith("-->\n\n| data |\n")
    own = house / "work" / "all" / head[2] / "one"
    assert (own / "log").read_text() == "said\n"

    (house / "data" / "ready").touch()
    second = run(house)
    assert second.returncode == 0, second.stderr
    assert f"one                    of the present code, at commit {head[1]}" in second.stderr
    assert second.stdout == "recipes/tables/three.md\n"
    assert (own / "n").read_text() == "x\n"

    assert run(house, "--only", "one", "--again").returncode == 0
    assert (own / "n").read_text() == "x\nx\n"


def test_tables_are_made_again_where_what_they_rest_on_changed(house: Path) -> None:
    (house / "data" / "ready").touch()
    assert run(house).returncode == 0
    commit(house)  # the tables themselves
    assert "minutes" not in run(house, "--dry-run").stderr

    (house / "diarize" / "b" / "one.py").write_text("b = 1\n")
    for _ in range(2):
        changed = run(house, "--only", "one three")
        assert "one: its code is not as committed" in changed.stderr
        assert "three                  of the present code" in changed.stderr
    assert (house / "work" / "all" / "changed" / "one" / "n").read_text() == "x\nx\n"
    assert ", code changed," in (house / "recipes" / "tables" / "one.md").read_text()
    commit(house)
    said = run(house, "--dry-run").stderr
    assert "one                    about 1 minutes" in said
    assert "three                  of the present code" in said

    assert run(house).returncode == 0
    commit(house)
    shutil.copytree(house / "recipes" / "steps", house / "recipes" / "another")
    commit(house)
    assert "minutes" not in run(house, "--dry-run").stderr

    write_table(house, ("three", "2", "-", "diarize/a", "THREE.md", "true"))
    assert "three                  about 2 minutes" in run(house, "--dry-run").stderr


def test_tables_stand_apart_and_name_no_files(house: Path) -> None:
    shown = (
        *("", "| a |", "|---|", "| 1 |", "$work/a.flac 3.0", "| b |", "|---|", "| 2 |"),
        *("**c**", "", "", "| c |", "|---|"),
    )
    command = "; ".join(f'echo "{line}"' for line in shown)
    write_table(house, ("one", "1", "-", "-", "ONE.md", command))
    assert run(house).returncode == 0
    tables = (house / "recipes" / "tables" / "one.md").read_text().partition("\n")[2]
    assert tables == ("\n| a |\n|---|\n| 1 |\n\n| b |\n|---|\n| 2 |\n\n**c**\n\n| c |\n|---|\n")


def test_a_choice_of_recipes(house: Path) -> None:
    by_number = run(house, "--dry-run", "--stage", "2", "--stop-stage", "2").stderr
    by_name = run(house, "--dry-run", "--only", "three").stderr
    assert by_number == by_name and by_name.split()[:2] == ["2", "three"]
    wrong = run(house, "--only", "none-of-them", "--dry-run")
    assert wrong.returncode == 2 and "no recipe is called none-of-them" in wrong.stderr


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


def imported(path: Path) -> set[str]:
    """Modules, or what lies in them, that a program names."""
    named = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            named |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
        elif isinstance(node, ast.Import):
            named |= {one.name for one in node.names}
    steps = {name for name in named if name.startswith("steps.")}
    programs = [RECIPES / f"{name.replace('.', '/')}.py" for name in steps]
    return named.union(*(imported(program) for program in programs if program.exists()))


@pytest.mark.parametrize(
    "row", [row for row in rows() if row["rests"] != "-"], ids=lambda row: row["recipe"]
)
def test_a_recipe_rests_on_what_it_names(row: dict[str, str]) -> None:
    (script,) = {REPOSITORY / s for s in re.findall(r"recipes/\S+\.(?:sh|py)", row["command"])}
    programs, shared = {script}, set()
    if script.suffix == ".sh":
        assert not re.search(r"^ *diarize (?!train embedding)", script.read_text(), re.M)
        programs, shared = set(script.parent.glob("*.py")), {"recipes/steps/parse_options.sh"}
    graph = grimp.build_graph("diarize")
    named = set().union(*map(imported, programs))
    needed = named & graph.modules - {"diarize"}
    needed |= set().union(*(graph.find_upstream_modules(module) for module in needed))
    listed = subprocess.run(
        ["git", "ls-files", *row["rests"].split()],
        cwd=REPOSITORY, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    files = re.findall(r"^(.*?)(?:/__init__)?\.py$", listed, re.M)
    modules = {name.replace("/", ".") for name in files}
    assert needed - modules <= {"diarize"}
    steps = {f"recipes/{name.replace('.', '/')}.py" for name in named if name.startswith("steps.")}
    steps = {step for step in steps if (REPOSITORY / step).exists()}
    assert steps | shared <= set(listed.splitlines())
