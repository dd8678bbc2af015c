"""`diarize config`: what would hold, and where it comes from."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from diarize.tuning.presets import PRESETS

Cli = Callable[..., Any]  # the fixture `cli`


def lines(text: str) -> dict[str, str]:
    """Where each option comes from."""
    found = {}
    for line in text.splitlines():
        setting, _, origin = line.rpartition("  # ")
        found[setting.lstrip("# ").replace(":", " =").partition(" = ")[0]] = origin
    return found


def test_each_value_with_where_it_comes_from(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, preset = tmp_path / "mine.toml", tmp_path / "p.json"
    file.write_text('seed = 3\nswitch = 0.3\nformat = ["rttm"]\nmin_gap = 1\n')
    params = {"threshold": 0.7, "switch": 0.2, "n_speakers": 4}
    preset.write_text(json.dumps({"name": "p", "backend": "gcr", "params": params}))
    monkeypatch.setenv("DIARIZE_SEED", "4")
    monkeypatch.setenv("DIARIZE_KNOWN", "a=a.wav b=b.wav")
    monkeypatch.setenv("DIARIZE_DEVICE", "cpu")
    result = cli("config", "--config", file, "--preset", preset, "--device", "auto", "-j", 2)
    assert result.status == 0
    values, origins = tomllib.loads(result.out), lines(result.out)
    expected = {
        "seed": (4, "environment"),
        "known": (["a=a.wav", "b=b.wav"], "environment"),
        "device": ("auto", "command line"),
        "jobs": (2, "command line"),
        "switch": (0.2, "preset p"),
        "backend": ("gcr", "preset p"),
        "num_speakers": (4, "preset p"),
        "format": (["rttm"], str(file)),
        "min_gap": (1.0, str(file)),
        "exclusive": (False, "default"),
    }
    assert {name: (values[name], origins[name]) for name in expected} == expected
    assert "# max_speakers: 20  # default\n" in result.out
    assert "# window: that of the model, 2.0  # default\n" in result.out
    assert "# threshold = 0.7  # preset p\n" in result.out
    assert "audio" not in origins


def test_what_it_prints_is_a_file_for_config(cli: Cli, tmp_path: Path) -> None:
    options = [
        "--preset", "gcr-librispeech-d2", "--switch", 0.3, "--format", "srt", "--exclusive",
        "--known", "a\N{GRINNING FACE}=b.wav",
    ]  # fmt: skip
    first = cli("config", *options).out
    (tmp_path / "mine.toml").write_text(first)
    again = cli("config", "--config", tmp_path / "mine.toml").out
    assert tomllib.loads(again) == tomllib.loads(first)
    threshold = PRESETS["gcr-librispeech-d2"].params["threshold"]
    assert f"# threshold = {threshold}  # preset gcr-librispeech-d2\n" in again


def test_what_stands_beside_a_preset_in_the_file_wins_over_it(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('preset = "ckm-librispeech-d2"\nnum_speakers = 3\n')
    shown = cli("config", "--config", file).out
    assert f"num_speakers = 3  # {file}\n" in shown
    file.write_text("num_speakers = 3\n")
    shown = cli("config", "--preset", "ckm-librispeech-d2", "--config", file).out
    assert "num_speakers = 5  # preset ckm-librispeech-d2\n" in shown


def test_what_run_would_refuse_is_refused(cli: Cli) -> None:
    cli("config", "--seed", "x").assert_refused("--seed")
    cli("config", "--sead", "1").assert_refused("--sead")
    cli("config", "--preset", "ckm-librispeech-d2", "--backend", "ac").assert_refused("not ac")
