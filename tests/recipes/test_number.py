"""The script that tells how well numbers of speakers are found, and how reliable their doubt is."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture(scope="module")
def number(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("conversations/number.py")


def line(true: int, found: int, chances: dict[int, float], seconds: int = 45) -> str:
    evidence = [[-np.inf, 0.1, 5.0], *[[-9.0, 0.1, 5.0]] * (found - 1)]
    told = {"recording": f"{true:02d}_{seconds}_1", "backend": "ckm", "seconds": seconds}
    told |= {"true": true, "found": found, "number": chances, "evidence": evidence}
    return json.dumps(told)


def test_the_tables(number: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "found.jsonl"
    lines = [line(2, 2, {2: 0.95, 3: 0.05}), line(3, 2, {2: 0.75, 3: 0.25})]
    path.write_text("\n".join([*lines, line(1, 1, {1: 0.75, 2: 0.25}, 240)]))
    number.table(argparse.Namespace(files=[path]))
    out = capsys.readouterr().out
    assert "| 45 | 3 | 2 |" in out and "| 240 | 1 | 1 |" in out
    assert "| 45 | 2 | 50% | 0.50 |" in out and "| all | 3 | 67% | 0.33 |" in out
    assert "| 0.7 to 0.8 | 2 | 0.75 | 0.50 |" in out
    assert "possible ones in 100% of 3 results (67% of them name more than one)" in out


def test_people_are_of_one_corpus_that_has_so_many(number: ModuleType) -> None:
    corpora = {f"a{n}": "an4" for n in range(3)} | {f"r{n}": "read" for n in range(6)}
    drawn = [number._people(corpora, 5, np.random.default_rng(seed)) for seed in range(20)]
    assert all(len(set(names)) == 5 for names in drawn)
    assert sum(all(name[0] == "r" for name in names) for names in drawn) >= 12
