"""What the recipe of adaptation counts, and how it takes corrections from a reference."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import soundfile
from pyannote.core import Annotation

from diarize.corrections import Corrections
from diarize.formats.rttm import rttm_text

from ..making import annotation


@pytest.fixture(scope="module")
def recipe(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("adaptation/corrections.py")


REFERENCE = annotation((0, 8, "ann"), (7, 20, "ben"), (20, 23, "carl"), (24, 24.2, "ann"))


def told(corrections: Annotation) -> list[tuple[float, float, str]]:
    return [
        (round(s.start, 2), round(s.end, 2), name)
        for s, _, name in corrections.itertracks(yield_label=True)
    ]


def test_first_seconds_alone(recipe: ModuleType) -> None:
    assert told(recipe.first(REFERENCE, Annotation())) == [
        (0, 3.33, "ONLY:ann"), (8, 11.33, "ONLY:ben"), (20, 23, "ONLY:carl"),
    ]  # fmt: skip


def test_longest_errors_by_the_names_of_the_result(recipe: ModuleType) -> None:
    result = annotation((0, 10, "SPEAKER_00"), (10, 23, "SPEAKER_01"))
    assert recipe.names_in(result, REFERENCE) == {"ann": "SPEAKER_00", "ben": "SPEAKER_01"}
    assert told(recipe.errors(REFERENCE, result)) == [
        (8, 10, "ONLY:SPEAKER_01"), (20, 22, "ONLY:carl"), (22, 23, "ONLY:carl"),
    ]  # fmt: skip


def test_time_outside_of_corrections(recipe: ModuleType) -> None:
    given = annotation((1, 3, "x"), (19, 21, "y"))
    rest = recipe.outside(REFERENCE, given)
    assert rest.label_duration("ann") == pytest.approx(8 - 2 + 0.2)
    assert rest.label_duration("ben") == pytest.approx(13 - 1)
    assert recipe.outside(REFERENCE, Annotation()) == REFERENCE


def test_a_table(recipe: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    soundfile.write(tmp_path / "talk.flac", rng.normal(0, 0.05, 16_000 * 14), 16_000)
    (tmp_path / "talk.rttm").write_text(rttm_text(annotation((0, 8, "ann"), (8, 14, "ben"))))
    recipe.main([str(tmp_path), "ac"])
    head, _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[1] for line in lines] == ["first", "errors"]
    assert all(line.count("|") == head.count("|") for line in lines)
    Corrections.of(recipe.first(REFERENCE, REFERENCE))


def test_gains(recipe_module: Callable[[str], ModuleType], tmp_path: Path) -> None:
    gains = recipe_module("adaptation/gains.py")
    folder = tmp_path / "room" / "dev-b"
    folder.mkdir(parents=True)
    for model, rates in (("before", (0.3, 0.5)), ("aligned", (0.2, 0.5))):
        total = dict.fromkeys(gains.PARTS, sum(rates) / 2) | {"speaker_count_error": 0.5}
        files = {f"c{i}": {"der": rate} for i, rate in enumerate(rates)}
        (folder / f"ckm-{model}.json").write_text(json.dumps({"total": total, "files": files}))
    before, aligned = gains.gains(tmp_path)
    assert before[:5] == ["room", "dev-b", "`ckm`", "before", "40.0"]
    assert aligned[-3:] == ["0.50", "1 of 2", "-5.0 ± 5.0"]
