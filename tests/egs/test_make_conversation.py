from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def script(repo_root: Path) -> dict[str, Any]:
    return runpy.run_path(str(repo_root / "egs" / "make_conversation.py"))


def noise(seconds: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    return rng.uniform(-0.5, 0.5, round(seconds * 16_000)).astype(np.float32)


def test_merge_splits_at_long_pauses_only(script: dict[str, Any]) -> None:
    runs = np.array([[0, 10], [13, 20], [24, 30]])
    assert script["merge"](runs, 3) == [(0, 20), (24, 30)]
    assert script["merge"](runs, 4) == [(0, 30)]
    assert script["merge"](runs[:1], 0) == [(0, 10)]


def test_lines_follow_barge_in_and_go_aside(script: dict[str, Any]) -> None:
    line = script["Line"]
    script["place"].__globals__["DIALOGUE"] = (
        line("anna", "one"),
        line("ben", "aside", aside=2.0),
        line("carl", "barges in", gap=-1.0),
        line("anna", "pause"),
    )
    sounds = [np.zeros(round(s * 16_000)) for s in (5.0, 1.0, 3.0, 2.0)]
    starts = np.array(script["place"](sounds, np.random.default_rng(0))) / 16_000
    assert starts[:3].tolist() == [1.0, 3.0, 5.0]
    assert 8.15 <= starts[3] <= 8.7


def test_nobody_speaks_over_themselves(script: dict[str, Any]) -> None:
    line = script["Line"]
    script["place"].__globals__["DIALOGUE"] = (line("anna", "one"), line("anna", "two", gap=-0.5))
    with pytest.raises(ValueError, match="over themselves"):
        script["place"]([np.zeros(16_000)] * 2, np.random.default_rng(0))


def test_the_reference_is_where_the_dry_voice_sounds(script: dict[str, Any]) -> None:
    script["annotate"].__globals__["DIALOGUE"] = (script["Line"]("ben", "words"),)
    short, long = np.zeros(3200, np.float32), np.zeros(8000, np.float32)
    sound = np.concatenate([noise(1.0), short, noise(0.5), long, noise(1.0)])
    reference = script["annotate"]([sound], [32_000])
    turns = [(round(s.start, 2), round(s.end, 2)) for s in reference.itersegments()]
    assert turns == [(2.0, 3.7), (4.2, 5.2)]
    assert reference.labels() == ["ben"]
