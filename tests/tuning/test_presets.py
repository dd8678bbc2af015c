"""Presets: the shipped ones and those in files."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diarize.clustering import make
from diarize.errors import InputError
from diarize.timeline import TimelineOptions
from diarize.tuning.presets import PRESETS, TIMELINE, Preset, preset_text, read_preset


@pytest.mark.parametrize("name", PRESETS)
def test_every_shipped_preset_makes_an_estimator(name: str, tmp_path: Path) -> None:
    preset = PRESETS[name]
    assert preset.name == name and preset.source.endswith(".")
    estimator = make(preset.backend, **preset.clustering_params, compose=np.maximum)
    nothing = np.zeros((0, 3))
    estimator.fit(nothing, [] if estimator.needs_truth else None)  # checks the values
    TimelineOptions(**preset.timeline_params)
    assert read_preset(name) is preset
    (tmp_path / "p.json").write_text(preset_text(preset))
    assert read_preset(tmp_path / "p.json") == preset


def test_options_of_the_timeline_are_told_apart() -> None:
    assert {*TIMELINE, "counts"} == {field.name for field in fields(TimelineOptions)}
    preset = Preset("p", "ckm", {"set_penalty": 0.1, "overlap": 0.2}, "From nowhere.")
    assert preset.clustering_params == {"set_penalty": 0.1}
    assert preset.timeline_params == {"overlap": 0.2}


def test_nobody_changes_a_preset() -> None:
    given = {"set_penalty": 0.1}
    preset = Preset("p", "ckm", given, "From nowhere.")
    given["set_penalty"] = 0.5
    assert preset.params["set_penalty"] == 0.1
    with pytest.raises(TypeError):
        preset.params["set_penalty"] = 0.2  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        preset.name = "q"  # type: ignore[misc]
    with pytest.raises(TypeError):
        PRESETS["p"] = preset  # type: ignore[index]


def test_a_file_needs_no_more_than_a_backend(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('{"backend": "gcr"}')
    assert read_preset(tmp_path / "mine.json") == Preset("mine", "gcr")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "'backend' must name a clustering"),
        ({"params": {}}, "'backend' must name a clustering"),
        ({"backend": "ckn"}, "did you mean ckm"),
        ({"backend": "ckm", "params": [1]}, "'params' must map"),
        ({"backend": "ckm", "params": {"tolerance": 1}}, "no option 'tolerance'"),
        ({"backend": "ckm", "params": {"name": "x"}}, "no option 'name'"),
        ({"backend": "ckm", "params": {"set_penalty": [1, 2]}}, "option set_penalty is no finite"),
        ('{"backend": "ckm", "params": {"set_penalty": NaN}}', "option set_penalty is no finite"),
        ({"backend": "ckm", "params": {"random_state": 1}}, "cannot hold random_state"),
        ({"backend": "ckm", "params": {"switch": "slow"}}, "switch is a number of at least 0"),
        ({"backend": "ckm", "name": 3}, "'name' is no text"),
    ],
)
def test_a_file_that_holds_no_preset(tmp_path: Path, content: Any, reason: str) -> None:
    file = tmp_path / "p.json"
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    with pytest.raises(InputError, match=reason) as caught:
        read_preset(file)
    assert str(file) in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"preset ckm-librispeach-d2: no such file.*librispeech"):
        read_preset("ckm-librispeach-d2")
    with pytest.raises(InputError, match=f"cannot read {tmp_path}"):
        read_preset(tmp_path)
