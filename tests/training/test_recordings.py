"""Fitting to labelled recordings: who is held back, what is kept, going on, what is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import diarize.training.recordings as module
from diarize.embedding import Knowledge, load_model, save_model
from diarize.errors import InputError
from diarize.training.recordings import (
    FittingRecipe,
    episodes_of,
    fit_recordings,
    fitting_loop,
    split_recordings,
)

from ..making import write_hum, write_hums

TURNS = 3.0  # seconds


def write_talk(folder: Path, stem: str, speakers: int, turns: int = 8) -> None:
    """Hums that take turns, a few seconds each."""
    write_hum(folder / f"{stem}.wav", 100 + 10 * len(stem), seconds=turns * TURNS)
    lines = [
        f"SPEAKER {stem} 1 {n * TURNS:.1f} {TURNS} <NA> <NA> s{n % speakers} <NA> <NA>"
        for n in range(turns)
    ]
    (folder / f"{stem}.rttm").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def talks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two people or three in each, but for one that is one person's."""
    folder = tmp_path_factory.mktemp("talks")
    for stem, speakers in (("a", 2), ("aa", 1), ("b", 2), ("cc", 3), ("d", 2)):
        write_talk(folder, stem, speakers)
    return folder


@pytest.fixture
def recipe(talks: Path, tiny_weights: Path, tmp_path: Path) -> FittingRecipe:
    start = load_model(tiny_weights)
    start.knowledge = Knowledge(slope=5.0)
    save_model(start, tmp_path / "start.safetensors")
    return FittingRecipe(
        recordings=[talks],
        start=tmp_path / "start.safetensors",
        loop=fitting_loop(4, every=2, bf16=False),
    )


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    def smaller(speakers: int) -> Any:
        return dataclasses.replace(episodes_of(speakers), episodes=1, pairs=2, seconds=(0.6,))

    monkeypatch.setattr(module, "episodes_of", smaller)


def told(monkeypatch: pytest.MonkeyPatch, *figures: list[float]) -> None:
    """What the recordings held back say of the start weights and of the new ones."""
    answers = [np.array(one) for one in figures] * 2
    monkeypatch.setattr(module, "shares", lambda *_: answers.pop(0))


def test_every_third_recording_in_which_two_people_speak_is_held_back(talks: Path) -> None:
    taught, held = split_recordings([talks])
    assert [recording.uri for recording, _ in taught] == ["b", "cc"]
    assert [recording.uri for recording, _ in held] == ["a", "d"]


def test_weights_are_kept_if_they_are_surely_better(
    recipe: FittingRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, [0.5, 0.5, 0.6], [0.7, 0.8, 0.8])
    reports: list[Any] = []
    fit = fit_recordings(
        recipe, tmp_path / "out", workers=0, report=lambda *one: reports.append(one)
    )
    assert fit is not None and fit.better
    assert (fit.before, fit.after) == pytest.approx((1.6 / 3, 2.3 / 3))
    assert fit.error == pytest.approx(np.std([0.2, 0.3, 0.2], ddof=1) / 3**0.5)
    assert (fit.taught, fit.held) == (2, 2)
    assert [step for step, *_ in reports] == [2, 4]
    assert all(set(loss) == {"windows", "kept"} for _, loss, *_ in reports)
    start, found = load_model(recipe.start), load_model(fit.weights)
    assert found.knowledge == start.knowledge == Knowledge(slope=5.0)
    before, after = start.state_dict(), found.state_dict()
    changed = {name for name, value in before.items() if not torch.equal(value, after[name])}
    assert changed == {
        "encode.project.weight", "encode.project.bias", "compose.w1.weight", "compose.w2.weight",
    }  # fmt: skip
    for answers in ([0.5, 0.7, 0.4], [0.5, 0.5, 0.6], [0.5, 0.6, 0.6]):  # otherwise, the start's
        told(monkeypatch, [0.5, 0.5, 0.6], answers)
        fit = fit_recordings(recipe, tmp_path / "out", workers=0)  # all steps are taken
        assert fit is not None and not fit.better
        last = load_model(fit.weights).state_dict()
        assert all(torch.equal(value, last[name]) for name, value in before.items())


def test_an_interrupted_fit_goes_on(
    recipe: FittingRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told(monkeypatch, [0.0, 0.0], [1.0, 1.0])
    whole = fit_recordings(recipe, tmp_path / "whole", workers=0)
    assert fit_recordings(recipe, tmp_path / "parts", workers=0, until=3) is None
    parts = fit_recordings(recipe, tmp_path / "parts", workers=0)
    assert whole is not None and parts is not None
    assert whole.weights.read_bytes() == parts.weights.read_bytes()
    with pytest.raises(InputError, match="parts: holds a training by another recipe"):
        fit_recordings(dataclasses.replace(recipe, seed=1), tmp_path / "parts", workers=0)


def test_speech_beside_them_and_real_questions(recipe: FittingRecipe, tmp_path: Path) -> None:
    folder = tmp_path / "speech"
    folder.mkdir()
    speech = write_hums(folder, 4, trained=3)
    fit = fit_recordings(
        dataclasses.replace(recipe, speech=[speech], split="train"), tmp_path / "out", workers=0
    )
    assert fit is not None
    assert 0 <= fit.before <= 1 and 0 <= fit.after <= 1 and fit.error >= 0


def test_what_cannot_be_learned_from(recipe: FittingRecipe, talks: Path, tmp_path: Path) -> None:
    folder = tmp_path / "few"
    folder.mkdir()
    few = dataclasses.replace(recipe, recordings=[folder])
    write_talk(folder, "alone", 1)
    with pytest.raises(InputError, match=r"few: two recordings are needed .* there are none"):
        fit_recordings(few, tmp_path / "out", workers=0)
    write_talk(folder, "two", 2)
    with pytest.raises(InputError, match="one to judge by, and there is one"):
        fit_recordings(few, tmp_path / "out", workers=0)
    (folder / "alone.rttm").write_text("")
    with pytest.raises(InputError, match=r"alone.wav: nobody speaks in it, by its RTTM file"):
        fit_recordings(few, tmp_path / "out", workers=0)
    nowhere = dataclasses.replace(recipe, rooms=tmp_path / "no")
    with pytest.raises(InputError, match="no: no such folder of rooms"):
        fit_recordings(nowhere, tmp_path / "out", workers=0)
    assert not (tmp_path / "out").exists()
