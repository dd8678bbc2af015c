"""Training of the activity network end to end, on hums: what is written, going on, refusals."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch

import diarize.training.activity as module
from diarize.activity.counter import CounterConfig, VoiceCounter
from diarize.activity.network import load_counter
from diarize.errors import InputError, TrainingError
from diarize.training.activity import ActivityRecipe, train_activity
from diarize.training.counting import CounterLoop, CounterTrainer

from ..making import write_hums


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five voices to train on, three to report on, and the turns of four people."""
    folder = write_hums(tmp_path_factory.mktemp("corpus"), 8, trained=5, spoken=0.8)
    (folder / "turns").mkdir()
    lines = [
        f"SPEAKER talk 1 {0.7 * n:.3f} {0.4 + 0.3 * (n % 4):.3f} <NA> <NA> p{n % 3} <NA> <NA>"
        for n in range(20)
    ]
    (folder / "turns" / "talk.rttm").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def recipe(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> ActivityRecipe:
    monkeypatch.setattr(module, "ROOMS", 1)
    return ActivityRecipe(
        speech=[corpus],
        turns=[str(corpus / "turns")],
        split="train",
        model=CounterConfig(width=8, hidden=4, layers=1),
        loop=CounterLoop(
            steps=4, batch=2, warmup=1, seconds=1.28, chunks=2, first=1, reuse=2.0, every=2, music=2
        ),
    )


def train(recipe: ActivityRecipe, folder: Path, **options: Any) -> dict[str, torch.Tensor]:
    path = train_activity(recipe, folder, **{"workers": 0, **options})
    return load_counter(path).state_dict()


def test_an_interrupted_training_goes_on(recipe: ActivityRecipe, tmp_path: Path) -> None:
    """And what renders shards, this process or another, makes no difference."""
    whole = train(recipe, tmp_path / "whole")
    train(recipe, tmp_path / "parts", until=3)
    (tmp_path / "parts" / "shards" / "shard_0000.npy").unlink()
    again = train(recipe, tmp_path / "parts", workers=1)
    for name, value in whole.items():
        torch.testing.assert_close(again[name], value, rtol=0, atol=0)
    with pytest.raises(InputError, match=r"parts: holds a training by another recipe"):
        train(dataclasses.replace(recipe, seed=1), tmp_path / "parts")


def test_the_best_averaged_weights_ship(
    recipe: ActivityRecipe, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = iter([0.5, 0.75])
    seen: list[dict[str, torch.Tensor]] = []
    reports: list[Any] = []

    def worth(trainer: CounterTrainer, figures: dict[str, float]) -> float:
        assert figures["loss"] > 0
        seen.append({k: v.clone() for k, v in trainer.averaged.state_dict().items()})
        return next(losses)

    monkeypatch.setattr(CounterTrainer, "worth", worth)
    monkeypatch.setattr(module, "fit_voice", lambda *_: None)  # the only one that comes after
    recipe = dataclasses.replace(
        recipe, development="dev", development_turns=[str(corpus / "turns")]
    )
    train(recipe, tmp_path, until=3, report=lambda *report: reports.append(report))
    trained = train(recipe, tmp_path, report=lambda *report: reports.append(report))
    assert [(step, best) for step, _, _, best in reports] == [(2, 2), (3, 2), (4, 2)]
    assert set(reports[0][2]) == {"loss", "miss", "false", "precision", "recall", "ap"}
    for name, value in seen[0].items():
        torch.testing.assert_close(trained[name], value, rtol=0, atol=0)
    assert not torch.equal(seen[0]["leave.weight"], seen[1]["leave.weight"])


def test_weights_to_begin_with(recipe: ActivityRecipe, tmp_path: Path) -> None:
    first = train(recipe, tmp_path / "first", until=1)
    still = dataclasses.replace(recipe.loop, rate=0.0)
    further = dataclasses.replace(
        recipe, start=tmp_path / "first" / "activity.safetensors", seed=1, loop=still
    )
    for name, value in train(further, tmp_path / "second", until=1).items():
        torch.testing.assert_close(value, first[name])


def test_without_a_step_only_what_is_a_voice_is_learned(
    recipe: ActivityRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = train(recipe, tmp_path / "first", until=1)

    def fit(counter: VoiceCounter, _: object, chunks: int, seconds: float, __: object) -> None:
        assert (chunks, seconds) == (2, 1.28)
        torch.nn.init.ones_(counter.voice.weight)

    monkeypatch.setattr(module, "fit_voice", fit)
    none = dataclasses.replace(
        recipe,
        start=tmp_path / "first" / "activity.safetensors",
        loop=dataclasses.replace(recipe.loop, steps=0),
    )
    second = train(none, tmp_path / "second")
    assert second.pop("voice.weight").eq(1).all()
    for name, value in second.items():
        torch.testing.assert_close(value, first[name], rtol=0, atol=0)
    assert not list((tmp_path / "second" / "shards").iterdir())


def test_a_broken_gradient_stops_the_training(
    recipe: ActivityRecipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments: Any) -> Any:
        batch = draw(*arguments)
        batch.spectra[0, 0, 0] = float("nan")
        return batch

    draw = module.draw_batch
    monkeypatch.setattr(module, "draw_batch", broken)
    with pytest.raises(TrainingError, match=r"step 0: .* its batch is in .*broken-0.safetensors"):
        train(recipe, tmp_path)
    assert (tmp_path / "broken-0.safetensors").is_file()
    assert not (tmp_path / "activity.safetensors").exists()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"split": "none"}, "no utterances in split none"),
        ({"turns": ["no"]}, "no"),
        ({"noise": [Path("no")]}, "no: no such folder of noise"),
        ({"rooms": Path("no")}, "no: no such folder of rooms"),
        ({"unlabelled": [Path("no")], "teacher": Path("teacher")}, "no: no such folder$"),
        ({"development": "dev"}, "go together"),
        ({"start": Path("no")}, "no: no such weights"),
    ],
)
def test_what_cannot_be_used_is_refused(
    recipe: ActivityRecipe,
    tmp_path: Path,
    change: dict[str, Any],
    reason: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "load_teacher", lambda _: None)
    with pytest.raises(InputError, match=reason):
        train(dataclasses.replace(recipe, **change), tmp_path)
    assert not list(tmp_path.iterdir())
