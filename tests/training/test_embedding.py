"""Training end to end, on hums: what is written, going on, what is refused."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import diarize.training.embedding as module
from diarize.embedding import (
    CompositionalEmbedding,
    EmbeddingConfig,
    Knowledge,
    load_model,
    save_model,
)
from diarize.errors import InputError
from diarize.mixing.voices import SPEEDS, Voices
from diarize.training.development import SetAccuracy
from diarize.training.embedding import EmbeddingRecipe, train_embedding
from diarize.training.episodes import EpisodeConfig
from diarize.training.loop import LoopConfig, Trainer
from diarize.training.shifts import SHIFTS

from ..making import write_hum, write_hums


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four voices to train on, five to report on, all of one corpus."""
    return write_hums(tmp_path_factory.mktemp("speech"), 9, trained=4)


@pytest.fixture
def recipe(speech: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddingRecipe:
    monkeypatch.setattr(module, "DEVELOPMENT_EPISODES", 2)
    return EmbeddingRecipe(
        speech=[speech],
        split="train",
        model=EmbeddingConfig(dim=16, hidden=8, layers=1),
        episodes=EpisodeConfig(
            episodes=1, speakers=4, pairs=2, triples=1, starts=2, changes=2, seconds=(0.6,)
        ),
        loop=LoopConfig(steps=4, warmup=1, cooldown=2, every=2, bf16=False),
    )


def train(recipe: EmbeddingRecipe, folder: Path, **options: Any) -> dict[str, torch.Tensor]:
    return load_model(train_embedding(recipe, folder, workers=0, **options)).state_dict()


def test_weights_that_can_be_loaded_and_reports_on_the_way(
    recipe: EmbeddingRecipe, tmp_path: Path
) -> None:
    reports, steps = [], []
    trained = train(
        dataclasses.replace(recipe, development="dev", pool=["hu"]),
        tmp_path / "new" / "out",
        hook=lambda step, done, total: steps.append((step, done)),
        report=lambda *report: reports.append(report),
    )
    assert trained["encode.project.weight"].shape == (16, 2 * 8 + 31)
    for name in ("spread", "average_spread"):
        assert (trained[f"encode.{name}"] != 1).all()  # measured on the speech
    assert [step for step, *_ in reports] == [2, 4]
    for _, loss, accuracy, best in reports:
        assert best in (2, 4)
        assert set(loss) == {"windows"}
        assert set(accuracy) == {"hu"}
        assert 0 <= accuracy["hu"].all <= 1
    assert [done for step, done in steps if step == "training"] == [1, 2, 3, 4]


def test_what_is_known_is_measured_at_the_end(
    recipe: EmbeddingRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = train_embedding(recipe, tmp_path / "few", workers=0)
    assert load_model(path).knowledge == Knowledge()  # four voices say nothing
    told = []

    def measured(model: Any, voices: Voices, before: Knowledge) -> Knowledge:
        told.append((len(voices), before))
        return Knowledge(offset=before.offset - 1)

    monkeypatch.setattr(module, "measured", measured)
    path = train_embedding(recipe, tmp_path / "first", workers=0)
    begun = dataclasses.replace(recipe, start=path)
    again = train_embedding(begun, tmp_path / "second", workers=0)
    assert load_model(again).knowledge == Knowledge(offset=Knowledge().offset - 2)
    assert [before for _, before in told] == [Knowledge(), load_model(path).knowledge]


def test_an_interrupted_training_goes_on(recipe: EmbeddingRecipe, tmp_path: Path) -> None:
    whole = train(recipe, tmp_path / "whole")
    train(recipe, tmp_path / "parts", until=3)
    again = train(recipe, tmp_path / "parts")
    for name, value in whole.items():
        torch.testing.assert_close(again[name], value, rtol=0, atol=0)
    # A longer training of the same recipe may go on; another one may not.
    longer = dataclasses.replace(recipe.loop, steps=5, every=1)
    reports = []
    with pytest.warns(
        UserWarning, match="4 steps were taken of 4 whose rate falls over the last 2"
    ):
        train(
            dataclasses.replace(recipe, loop=longer),
            tmp_path / "parts",
            report=lambda step, *_: reports.append(step),
        )
    assert reports == [5]
    with pytest.raises(
        InputError, match=r"parts: holds a training by another recipe .*: seed is 0 there, 1 now"
    ):
        train(dataclasses.replace(recipe, seed=1), tmp_path / "parts")


def test_the_best_weights_ship_and_not_the_last(
    recipe: EmbeddingRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when it was interrupted in between."""
    figures = {1: 0.2, 2: 0.7, 3: 0.5, 4: 0.6}
    seen: dict[int, dict[str, torch.Tensor]] = {}

    def judged(trainer: Trainer, accuracy: object) -> None:
        seen[trainer.step] = {k: v.clone() for k, v in trainer.model.state_dict().items()}
        all_alike = [figures[trainer.step]] * 5
        judge(trainer, {"hums": SetAccuracy(*all_alike)})

    judge = Trainer.judge
    monkeypatch.setattr(Trainer, "judge", judged)
    recipe = dataclasses.replace(
        recipe, development="dev", loop=dataclasses.replace(recipe.loop, every=1)
    )
    reports: list[tuple[int, int | None]] = []
    for until in (3, None):
        shipped = train(
            recipe,
            tmp_path,
            until=until,
            report=lambda step, _, __, best: reports.append((step, best)),
        )
    for name, value in seen[2].items():
        torch.testing.assert_close(shipped[name], value, rtol=0, atol=0)
    assert reports == [(1, 1), (2, 2), (3, 2), (4, 2)]


def test_a_training_may_begin_with_weights(recipe: EmbeddingRecipe, tmp_path: Path) -> None:
    path = train_embedding(recipe, tmp_path / "first", workers=0)
    still = dataclasses.replace(recipe.loop, rate=0.0)
    other = EmbeddingConfig(dim=16, hidden=4, layers=1)  # what the weights say rules
    begun = dataclasses.replace(recipe, start=path, loop=still, model=other, seed=1)
    again = train(begun, tmp_path / "second")
    for name, value in load_model(path).state_dict().items():
        torch.testing.assert_close(again[name], value, rtol=0, atol=0)
    with pytest.raises(InputError, match=r"no: no such model"):
        train(dataclasses.replace(recipe, start="no"), tmp_path / "third")


def test_shifted_voices_join_in(
    recipe: EmbeddingRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train(dataclasses.replace(recipe, shifts=True), tmp_path / "out")
    few = Voices.load(tmp_path / "out" / "voices")
    assert len(few) == 4 * (len(SPEEDS) + len(SHIFTS))
    monkeypatch.setitem(sys.modules, "parselmouth", None)
    with pytest.raises(InputError, match=r"pip install 'diarize-sets\[shifts\]'"):
        train(dataclasses.replace(recipe, shifts=True), tmp_path / "other")


def test_what_fails_before_there_are_voices_leaves_nothing(
    recipe: EmbeddingRecipe, tmp_path: Path
) -> None:
    for changes, reason in (
        ({"speech": [tmp_path / "no"]}, "no: no such folder of speech"),
        ({"split": "test"}, "no utterances in split test"),
        ({"development": "test"}, "no utterances in split test"),
        ({"noise": [tmp_path / "no"]}, "no: no such folder of noise"),
        ({"rooms": tmp_path / "no"}, "no: no such folder of rooms"),
        ({"unlabelled": tmp_path}, ": no recordings"),
        ({"unlabelled": tmp_path / "no"}, "no: no such folder$"),
        ({"episodes": EpisodeConfig(speakers=5)}, "4 speakers, but 5 meet in training"),
    ):
        with pytest.raises(InputError, match=reason):
            train(dataclasses.replace(recipe, **changes), tmp_path / "out")
        assert not (tmp_path / "out").exists()
    train(recipe, tmp_path / "out", until=1)


def test_unlabelled_files_are_voices_of_their_own(recipe: EmbeddingRecipe, tmp_path: Path) -> None:
    (tmp_path / "more" / "deep").mkdir(parents=True)
    for number in range(2):
        write_hum(tmp_path / "more" / "deep" / f"{number}.wav", 300 + 20 * number)
    (tmp_path / "more" / "readme.txt").touch()
    start = CompositionalEmbedding(EmbeddingConfig(dim=12, hidden=8, layers=1, branches=2, part=16))
    save_model(start, tmp_path / "start.safetensors")
    more = {"unlabelled": tmp_path / "more", "start": tmp_path / "start.safetensors"}
    trained = train(dataclasses.replace(recipe, **more), tmp_path / "out", until=1)
    voices = Voices.load(tmp_path / "out" / "voices")
    # four at seven speeds, two at three
    assert len(voices) == 4 * 7 + 2 * 3
    assert set(voices.speakers[-6:]) == {"unlabelled/deep/0", "unlabelled/deep/1"}
    # Whom a voice resembles is what the weights to begin with say.
    assert voices.heard is not None
    np.testing.assert_allclose(np.linalg.norm(voices.heard, axis=1), 1, atol=1e-5)
    assert voices.heard.shape == (34, 12)
    join = start.state_dict()["encode.join.weight"]
    assert not torch.equal(trained["encode.join.weight"], join)


def test_devices(recipe: EmbeddingRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    for device, reason in (("cuda", "there is none"), ("gpu", "not one of auto, cpu, cuda")):
        with pytest.raises(InputError, match=reason):
            train(recipe, tmp_path / "out", device=device)
    assert not (tmp_path / "out").exists()


def test_a_silent_speaker_is_left_out(recipe: EmbeddingRecipe, tmp_path: Path) -> None:
    for n in range(5):
        (tmp_path / "speech" / f"s{n}").mkdir(parents=True)
        write_hum(tmp_path / "speech" / f"s{n}" / "a.wav", 80 + 23 * n, spoken=float(n > 0))
    start = CompositionalEmbedding(EmbeddingConfig(dim=12, hidden=8, layers=1, branches=2, part=16))
    save_model(start, tmp_path / "start.safetensors")
    heard = dataclasses.replace(recipe, speech=[tmp_path / "speech"], split=None)
    for number, begun in enumerate((None, tmp_path / "start.safetensors")):
        train(dataclasses.replace(heard, start=begun), tmp_path / f"out{number}", until=1)
        voices = Voices.load(tmp_path / f"out{number}" / "voices")
        assert set(voices.speakers) == {"s1", "s2", "s3", "s4"}
    five = dataclasses.replace(heard, episodes=EpisodeConfig(speakers=5))
    with pytest.raises(InputError, match="speech: 4 speakers, but 5 meet in training"):
        train(five, tmp_path / "few")


def test_unlabelled_files_of_one_name_are_two_voices(
    recipe: EmbeddingRecipe, tmp_path: Path
) -> None:
    for number in range(2):
        (tmp_path / "more" / f"book{number}").mkdir(parents=True)
        write_hum(tmp_path / "more" / f"book{number}" / "01.x.wav", 300 + 20 * number)
    write_hum(tmp_path / "more" / "02.wav", 350)
    more = dataclasses.replace(recipe, unlabelled=tmp_path / "more")
    train(more, tmp_path / "out", until=1)
    voices = Voices.load(tmp_path / "out" / "voices")
    assert set(voices.speakers[voices.corpora == "unlabelled"]) == {
        "unlabelled/02", "unlabelled/book0/01.x", "unlabelled/book1/01.x",
    }  # fmt: skip


def test_a_folder_that_is_damaged(recipe: EmbeddingRecipe, tmp_path: Path) -> None:
    train(recipe, tmp_path, until=2)
    (tmp_path / "model.safetensors").replace(tmp_path / "checkpoint.safetensors")
    with pytest.raises(InputError, match=r"checkpoint\.safetensors: no checkpoint of such"):
        train(recipe, tmp_path)
    (tmp_path / "voices" / "voices.npz").write_bytes(b"")
    with pytest.raises(InputError, match="voices: no voices that can be used"):
        train(recipe, tmp_path)
