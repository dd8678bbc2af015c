"""`--preset`: what it sets, and what wins over it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import Result

ROWS = np.array([[1.0, 0.0]] * 4 + [[0.0, 1.0]] * 4 + [[1.0, 1.0]] * 2, dtype=np.float32)


@pytest.fixture
def cluster(cli: Callable[..., Result], tmp_path: Path) -> Callable[..., Result]:
    """Call `diarize cluster` on three heaps of vectors."""
    np.savez(tmp_path / "x.npz", embeddings=ROWS)

    def call(*arguments: object) -> Result:
        return cli("cluster", tmp_path / "x.npz", "--compose", "max", "--out", "-", *arguments)

    return call


@pytest.fixture
def preset(tmp_path: Path) -> Callable[..., Path]:
    """Write a preset file."""

    def write(backend: str, **params: Any) -> Path:
        path = tmp_path / "mine.json"
        path.write_text(json.dumps({"name": "mine", "backend": backend, "params": params}))
        return path

    return write


def test_backend_and_options_come_from_the_preset(cluster: Any, preset: Any) -> None:
    file = preset("ac", distance_threshold=100.0)
    assert json.loads(cluster("--preset", file).out) == {
        "backend": "ac",
        "n_speakers": 1,
        "sets": [[0]] * 10,
    }


def test_options_of_the_command_come_from_it_too(cluster: Any, preset: Any) -> None:
    file = preset("ac", n_speakers=3, max_set_size=1, switch=0.3)
    assert json.loads(cluster("--preset", file).out)["n_speakers"] == 3


def test_what_stands_on_the_command_line_wins(cluster: Any, preset: Any) -> None:
    file = preset("ac", distance_threshold=100.0, n_speakers=1)
    found = cluster("--num-speakers", 2, "--preset", file)
    assert json.loads(found.out)["n_speakers"] == 2
    found = cluster(
        "--preset", preset("ac", distance_threshold=100.0), "-p", "distance-threshold=0.1"
    )
    assert json.loads(found.out)["n_speakers"] == 3
    assert cluster("--preset", file, "--backend", "ac").status == 0


def test_a_number_that_a_preset_asks_for_is_told(run: Any, talk: Path, preset: Any) -> None:
    given = (talk, "--preset", preset("ckm", n_speakers=2))
    assert "preset mine was tuned on 2 speakers, and asks for as many" in run(*given).err
    assert "was tuned on" not in run(*given, "--num-speakers", 2).err


def test_another_backend_is_refused(cluster: Any, preset: Any) -> None:
    cluster("--backend", "gcr", "--preset", preset("ac")).assert_refused(
        "preset mine is for backend ac, not gcr"
    )
    cluster("--backend", "ckm", "--preset", preset("ac")).assert_refused("not ckm")


def test_turns_may_end_the_same_way_with_another_backend(
    run: Callable[..., Result], talk: Path
) -> None:
    given = ["--backend", "ac", talk]
    told = run(*given, "--min-turn", 0.1, "--min-gap", 0.2)
    assert run(*given, "--preset", "tight").out == told.out
    assert run(*given, "--preset", "turns").out != told.out


def test_a_preset_that_cannot_be_used_is_refused(cluster: Any, preset: Any) -> None:
    cluster("--preset", "missing.json").assert_refused("preset missing.json: no such file")
    file = preset("ac", linkage="ward")
    cluster("--preset", file).assert_refused(str(file), "no option 'linkage'")
    cluster("--preset", preset("ac", n_speakers=0)).assert_refused("--num-speakers")


def test_run_takes_backend_timeline_and_numbers(
    run: Callable[..., Result], talk: Path, preset: Any
) -> None:
    file = preset("gcr", n_speakers=2, max_set_size=1, count_penalty=0.5, min_turn=0.5)
    given = ["--format", "json", talk, "--end", 6]
    short = run(*given, "--preset", file)
    plain = ["--backend", "gcr", "--num-speakers", 2, "--max-set-size", 1]
    same = run(*given, *plain, "-p", "count_penalty=0.5", "--min-turn", 0.5)
    assert short.status == same.status == 0
    assert json.loads(short.out) == json.loads(same.out)
    longer = run(*given, "--preset", file, "--num-speakers", 1)
    assert len(json.loads(longer.out)["speakers"]) == 1
    run(*given, "--preset", file, "--backend", "ckm").assert_refused(
        "preset mine is for backend gcr"
    )
