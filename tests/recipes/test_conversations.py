"""The recipe that simulates conversations, runs every backend and scores."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def folder(repo_root: Path) -> Path:
    return repo_root / "recipes" / "conversations"


@pytest.fixture(scope="module")
def table(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("conversations_table", folder / "table.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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


def test_it_can_do_without_ac(
    table: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_scores(tmp_path / "gcr.json", {"a": 0.1})
    table.main(tmp_path, ["gcr"])
    assert "than `ac`" not in capsys.readouterr().out


@pytest.mark.parametrize("recipe", ["conversations", "embedding"])
def test_the_scripts_are_bash(repo_root: Path, recipe: str) -> None:
    script = repo_root / "recipes" / recipe / "run.sh"
    assert os.access(script, os.X_OK)
    subprocess.run(["bash", "-n", str(script)], check=True)
    for arguments, reason in (([], "--speech DIR"), (["--colour"], "unknown option --colour")):
        done = subprocess.run(
            ["bash", str(script), *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert reason in done.stderr
        assert done.stdout == ""


@pytest.mark.needs_speech
def test_a_small_run(folder: Path, shared_dir: Path, tmp_path: Path) -> None:
    commands = Path(sys.executable).parent  # `diarize` and `python` of this environment
    command = [
        "bash", str(folder / "run.sh"), "--speech", str(shared_dir / "speech"),
        "--work", str(tmp_path), "--conversations", "2", "--backends", "ckm ac oracle",
    ]  # fmt: skip
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for backend in ("ckm", "ac", "oracle"):
        assert f"| `{backend}` |" in done.stdout
        scores = json.loads((tmp_path / f"{backend}.json").read_text())
        assert list(scores["files"]) == ["conversation_000", "conversation_001"]
        assert 0 <= scores["total"]["der"] < 1
    assert "`ckm` has a lower DER than `ac` in " in done.stdout
