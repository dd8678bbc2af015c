"""The figures beside those of others: the table, the pages that show it, how it is made anew."""

from __future__ import annotations

import csv
import importlib
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PRINTED = """\
<!-- commit abc1234, code 0123456789, minutes 1: some command -->

| | der | jer |
|---|---|---|
| ours | 12.5 | 1 |
| peer | 30.0 | 2 |

1 core(s)
| | seconds | of a processor |
|---|---|---|
| ours: in all | 20.5 | 19 |
| minutes | backend | peak MiB |
"""


def load(name: str) -> ModuleType:
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(DOCS))


@pytest.fixture(scope="module")
def comparison() -> ModuleType:
    return load("comparison")


def test_the_pages_are_made_from_the_table(comparison: ModuleType) -> None:
    for page in comparison.PAGES:
        text = page.read_text(encoding="utf-8")
        assert comparison.PLACE.search(text)
        assert comparison.filled(text, comparison.read()) == text, "python docs/comparison.py"
    assert comparison.current() == comparison.read(), "python docs/comparison.py"


def test_the_picture_is_of_the_table(repo_root: Path, tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    tested = (repo_root / "constraints.txt").read_text().splitlines()
    if f"matplotlib=={matplotlib.__version__}" not in tested:
        pytest.skip("another matplotlib draws the same in other words")
    load("figures").draw_comparison(tmp_path / "comparison.svg")
    shown = (DOCS / "figures" / "comparison.svg").read_bytes()
    assert (tmp_path / "comparison.svg").read_bytes() == shown, "python docs/figures.py"


def test_every_figure_says_where_it_comes_from(comparison: ModuleType, repo_root: Path) -> None:
    with (repo_root / "recipes" / "all.tsv").open() as file:
        recipes = {row["recipe"] for row in csv.DictReader(file, delimiter="\t", quoting=3)}
    figures = comparison.read()
    for one in figures:
        assert bool(one.commit) != bool(one.source), one
        assert one.recipe in recipes | {""}, one
        assert bool(one.commit) == bool(one.recipe) == bool(one.row) == bool(one.column), one
    places = [(one.what, one.system) for one in figures]
    assert len(set(places)) == len(places)
    first = figures[0]
    assert first.system != "ours" and first.source, "where a peer is better, it is said first"


def test_figures_are_taken_from_what_a_recipe_printed(comparison: ModuleType) -> None:
    assert comparison.cell(PRINTED, "peer", "der") == 30
    assert comparison.cell(PRINTED, "ours: in all", "seconds") == 20.5
    table = "| a | b | `x` |\n|---|---|---|\n| `ami` | network | 1.5 |\n| ami | silero | 2 |\n"
    assert comparison.cell(table, "ami / silero", "x") == 2
    with pytest.raises(ValueError, match="a column 'kept'"):
        comparison.cell(table, "ami / silero", "kept")
    with pytest.raises(ValueError, match="no row 'peer: in all'"):
        comparison.cell(PRINTED, "peer: in all", "seconds")
    before = [comparison.Figure("w", "s", 1.0, "DER, %", "old", "peer", "ours", "der", "")]
    (after,) = comparison.measured(before, "peer", PRINTED)
    assert (after.value, after.commit) == (12.5, "abc1234")
    assert comparison.measured(before, "activity", PRINTED) == before
    with pytest.raises(ValueError, match="no tables"):
        comparison.measured(before, "peer", "| |\n")


def test_the_table_is_read_as_it_is_written(comparison: ModuleType, tmp_path: Path) -> None:
    shutil.copy(comparison.TABLE, tmp_path / "a.tsv")
    comparison.write(comparison.read(), tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_text() == comparison.TABLE.read_text()
