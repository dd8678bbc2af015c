"""The recipe that simulates conversations, runs every backend and scores."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from .conftest import run_script


@pytest.fixture(scope="module")
def folder(repo_root: Path) -> Path:
    return repo_root / "recipes" / "conversations"


@pytest.fixture(scope="module")
def table(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("conversations/table.py")


def write_scores(path: Path, ders: dict[str, float]) -> None:
    total = {
        "der": 0.125, "missed_detection": 0.05, "false_alarm": 0.025, "confusion": 0.05,
        "jer": 0.2, "cri": 0.9, "speaker_count_error": 0.5, "reference_seconds": 60.0,
    }  # fmt: skip
    files = {uri: {**total, "der": der} for uri, der in ders.items()}
    path.write_text(json.dumps({"total": total, "files": files}))


def test_the_table(table: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_scores(tmp_path / "ckm.json", {"b": 0.1, "a": 0.2, "c": 0.3})
    write_scores(tmp_path / "ac.json", {"a": 0.2, "b": 0.25, "c": 0.4})
    write_scores(tmp_path / "oracle.json", {"a": 0.01, "b": 0.01, "c": 0.01})
    table.main(tmp_path, ["ckm", "ac", "oracle"])
    assert capsys.readouterr().out == (
        "| backend | DER | missed | false alarm | confusion | JER | CRI | count error |\n"
        "|---|---|---|---|---|---|---|---|\n"
        "| `ckm` | 12.5 | 5.0 | 2.5 | 5.0 | 20.0 | 90.0 | 0.50 |\n"
        "| `ac` | 12.5 | 5.0 | 2.5 | 5.0 | 20.0 | 90.0 | 0.50 |\n"
        "| `oracle` | 12.5 | 5.0 | 2.5 | 5.0 | 20.0 | 90.0 | 0.50 |\n"
        "\n"
        "| conversation | `ckm` | `ac` | `oracle` |\n"
        "|---|---|---|---|\n"
        "| a | 20.0 | 20.0 | 1.0 |\n"
        "| b | 10.0 | 25.0 | 1.0 |\n"
        "| c | 30.0 | 40.0 | 1.0 |\n"
        "\n"
        "`ckm` has a lower DER than `ac` in 2 of 3.\n"
    )


@pytest.fixture(scope="module")
def hard_cases(recipe_module: Callable[[str], ModuleType]) -> ModuleType:
    return recipe_module("conversations/hard_cases.py")


@pytest.fixture(scope="module")
def voices() -> dict[str, list[np.ndarray]]:
    """Four "voices" of 8 s: bursts of 0.9 s of noise, each of another pitch."""
    rng = np.random.default_rng(0)
    found = {}
    for name in "abcd":
        audio = rng.normal(0, 1e-4, 8 * 16000)
        for begin in range(0, len(audio), 16000):
            audio[begin : begin + 14400] += 0.1 * rng.normal(size=14400)
        found[name] = [audio.astype(np.float32)]
    found["short"] = [np.ones(16000, np.float32)]
    return found


@pytest.mark.parametrize(
    ("case", "speakers"),
    [
        ("one_speaker", 1), ("similar_voices", 2), ("one_dominates", 3),
        ("long_silence", 2), ("loud_noise", 3), ("far_microphone", 3),
    ],
)  # fmt: skip
def test_a_hard_case(
    hard_cases: ModuleType, voices: dict[str, list[np.ndarray]], case: str, speakers: int
) -> None:
    cases = hard_cases.Cases(voices, [])
    audio, reference = cases.by_name[case](np.random.default_rng(3))
    assert len(reference.labels()) == speakers and "short" not in reference.labels()
    seconds = len(audio) / 16000
    assert reference.get_timeline().extent().end <= seconds
    if case == "long_silence":
        longest = max(gap.duration for gap in reference.get_timeline().support().gaps())
        assert 600 <= longest < 603
    if case == "one_dominates":
        talk = sorted(seconds for _, seconds in reference.chart())
        assert talk[1] <= 3.1 < talk[2]
    if case == "far_microphone":
        assert 10 * np.log10(np.square(audio).mean()) < -45


def test_hard_cases_are_averaged_by_reference_time(hard_cases: ModuleType, tmp_path: Path) -> None:
    write_scores(tmp_path / "x.json", {"loud_noise_0": 0.1, "loud_noise_1": 0.3, "far_0": 0.5})
    content = json.loads((tmp_path / "x.json").read_text())
    content["files"]["loud_noise_1"]["reference_seconds"] = 180.0
    (tmp_path / "x.json").write_text(json.dumps(content))
    assert list(hard_cases.means(tmp_path / "x.json")) == [
        ["loud noise", "25.0", "5.0", "2.5", "5.0", "0.50"],
        ["far", "50.0", "5.0", "2.5", "5.0", "0.50"],
    ]


def test_it_can_do_without_ac(
    table: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_scores(tmp_path / "gcr.json", {"a": 0.1})
    table.main(tmp_path, ["gcr"])
    assert "than `ac`" not in capsys.readouterr().out


@pytest.mark.needs_speech
def test_a_small_run(folder: Path, shared_dir: Path, tmp_path: Path) -> None:
    done = run_script(
        folder / "run.sh", "--speech", shared_dir / "speech", "--work", tmp_path,
        "--conversations", 2, "--backends", "ckm ac oracle",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for backend in ("ckm", "ac", "oracle"):
        assert f"| `{backend}` |" in done.stdout
        scores = json.loads((tmp_path / f"{backend}.json").read_text())
        assert list(scores["files"]) == ["conversation_000", "conversation_001"]
        assert 0 <= scores["total"]["der"] < 1
    assert "`ckm` has a lower DER than `ac` in " in done.stdout


def test_the_budget_of_errors(
    recipe_module: Callable[[str], ModuleType],
    repo_root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(repo_root / "recipes" / "conversations"))  # as when it is run
    budget = recipe_module("conversations/budget.py")
    for ending in ("flac", "rttm"):  # the name is all that says what it is made of
        source = repo_root / "egs" / f"conversation.{'ogg' if ending == 'flac' else ending}"
        (tmp_path / f"one.{ending}").write_bytes(source.read_bytes())
    rows = list(budget.rows(tmp_path, ["ac"]))
    assert [row[0] for row in rows] == ["the reference's"] * 3 + ["detected"] * 3
    assert [row[2] for row in rows] == ["`ac`", "`ac`", "`oracle`"] * 2
    der = [float(row[3]) for row in rows]
    assert der[2] < der[5] < der[3]  # with the true sets; and detected; and clustered
    assert float(rows[2][6]) == 0.0
