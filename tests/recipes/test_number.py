"""The script that tells how well numbers of speakers are found, and how reliable their doubt is."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ..making import annotation


@pytest.fixture(scope="module")
def number(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("conversations/number.py")


def line(true: int, found: int, chances: dict[int, float], seconds: int = 45) -> str:
    evidence = [[-np.inf, 10.0, 5.0], *[[-9.0, 10.0, 5.0]] * (found - 1)]
    told = {"recording": f"{true:02d}_{seconds}_1", "backend": "ckm", "seconds": seconds}
    told |= {"true": true, "found": found, "number": chances, "evidence": evidence}
    told |= {"new": [True] * found, "time": [100, 5, 2, 1]}
    return json.dumps(told)


def test_the_tables(number: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "found.jsonl"
    lines = [line(2, 2, {2: 0.95, 3: 0.05}), line(3, 2, {2: 0.75, 3: 0.25})]
    path.write_text("\n".join([*lines, line(1, 1, {1: 0.75, 2: 0.25}, 240)]))
    number.table(argparse.Namespace(files=[path]))
    out = capsys.readouterr().out
    assert "| 45 | 3 | 2 |" in out and "| 240 | 1 | 1 |" in out
    assert "| backend | 45 s: right, off by | 240 s: right, off by | all | DER |" in out
    assert "| `ckm` | 1 of 2, 0.50 | 1 of 1, 0.00 | 2 of 3, 0.33 | 8.0 |" in out
    assert "| 0 to 0.5 | 0.5 to 0.7 | 0.7 to 0.9 | 0.9 to 1 | possible | surprise |" in out
    assert "| `ckm` |  |  | 0.75, 0.50 of 2 | 0.95, 1.00 of 1 | 100% | 0.58 |" in out


def test_who_is_new_is_told_by_the_people_whom_speakers_speak_for(number: ModuleType) -> None:
    reference = annotation((0.0, 10.0, "ann"), (10.0, 20.0, "ben"))
    found = annotation((0.0, 7.0, "a"), (7.0, 9.0, "b"), (9.0, 11.0, "both"), (11.0, 20.0, "c"))
    names = ["c", "a", "b", "both"]
    assert number.who_is_new(found, reference, names) == [True, True, False, None]


def test_constants_tell_duplicates(number: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    def found(alike: float, seconds: float, new: bool) -> object:
        evidence = [[-np.inf, 30.0, 5.0], [alike, seconds, 5.0]]
        return number.Found("02_45_1", "ckm", 45, 2, 2, {2: 1.0}, evidence, [True, new], ())

    unlike, alike = found(-5.0, 20.0, True), found(2.0, 3.0, False)
    surprising = [found(-5.0, 20.0, False), found(2.0, 3.0, True)]
    number.fit_duplicates([unlike, alike] * 4 + surprising)
    out = capsys.readouterr().out
    assert out.startswith("10 speakers, 5 of them duplicates: [")
    _, by_alike, _, by_share = json.loads(out.partition(": ")[2])
    assert by_alike > 0 > by_share


def test_people_are_of_one_corpus_that_has_so_many(number: ModuleType) -> None:
    corpora = {f"a{n}": "an4" for n in range(3)} | {f"r{n}": "read" for n in range(6)}
    drawn = [number._people(corpora, 5, np.random.default_rng(seed)) for seed in range(20)]
    assert all(len(set(names)) == 5 for names in drawn)
    assert sum(all(name[0] == "r" for name in names) for names in drawn) >= 12
