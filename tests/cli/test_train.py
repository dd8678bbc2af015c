"""`diarize train embedding`: options into a recipe, reports onto standard output."""

from __future__ import annotations

import inspect
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import diarize.training.activity
import diarize.training.embedding
import diarize.training.recordings
from diarize.training.activity import ActivityRecipe, train_activity
from diarize.training.counting import CounterLoop
from diarize.training.development import SetAccuracy
from diarize.training.embedding import EmbeddingRecipe, train_embedding
from diarize.training.loop import LoopConfig
from diarize.training.recordings import FitResult, FittingRecipe, fit_recordings, fitting_loop

Cli = Callable[..., Any]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the library is asked for; nothing is trained."""
    asked: list[dict[str, Any]] = []

    def train(recipe: EmbeddingRecipe, folder: Path, *, report: Any, **options: Any) -> Path:
        asked.append({"recipe": recipe, "folder": folder, **options})
        figures = {"hums": SetAccuracy(0.5, 0.75, 0.375, 0.5, 0.25)}
        report(1000, {"windows": 1.25}, figures, 500)
        return folder / "model.safetensors"

    monkeypatch.setattr(diarize.training.embedding, "train_embedding", train)
    return asked


def test_options_make_a_recipe(cli: Cli, calls: list[dict[str, Any]], tmp_path: Path) -> None:
    result = cli(
        "train", "embedding", "--speech", "s", "--out", tmp_path / "o", "--split", "train",
        "--dev-split", "dev", "--pool", "a", "--pool", "b", "--unlabelled", "u", "--noise", "n",
        "--steps", 9, "--cooldown", 3, "--rate", 0.5, "--every", 2, "--workers", 0,
        "--until", 5, "--seed", 7,
    )  # fmt: skip
    assert result.status == 0
    assert result.out == (
        "step 1000: loss windows 1.250\n"
        "  hums: set accuracy 0.500 (single 0.75, pair 0.38); the paper's variant 0.500; "
        "mean as g 0.250\n"
        "  best so far, and kept: step 500\n"
    )
    weights = tmp_path / "o" / "model.safetensors"
    told = f"diarize: note: weights in {weights}, of step 5: the training goes on\n"
    assert result.err == told
    (asked,) = calls
    assert asked["recipe"] == EmbeddingRecipe(
        speech=[Path("s")], split="train", unlabelled=Path("u"), noise=[Path("n")],
        development="dev",
        pool=["a", "b"], loop=LoopConfig(steps=9, cooldown=3, rate=0.5, every=2),
        seed=7,
    )  # fmt: skip
    assert (asked["until"], asked["workers"], asked["device"]) == (5, 0, "cpu")


def test_defaults_are_those_of_the_library(
    cli: Cli, calls: list[dict[str, Any]], tmp_path: Path
) -> None:
    assert cli("train", "embedding", "--speech", "s", "--out", tmp_path / "o").status == 0
    (asked,) = calls
    assert asdict(asked["recipe"]) == asdict(EmbeddingRecipe(speech=[Path("s")], noise=[], pool=[]))
    function = inspect.signature(train_embedding).parameters
    for name in ("device", "workers", "until"):
        assert asked[name] == function[name].default


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ([], "Missing option '--speech'"),
        (["--speech", "no"], "no: no such folder of speech"),
        (["--speech", "no", "--steps", "0"], "--steps"),
        (["--speech", "no", "--until", "0"], "--until"),
        (["--speech", "no", "--rate", "-1"], "--rate"),
        (["--speech", "no", "--device", "gpu"], "device gpu: not one of auto, cpu, cuda"),
    ],
)
def test_what_cannot_be_used_is_refused(
    cli: Cli, tmp_path: Path, options: list[str], reason: str
) -> None:
    cli("train", "embedding", "--out", tmp_path / "out", *options).assert_refused(reason)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the library is asked for; nothing is trained."""
    asked: list[dict[str, Any]] = []

    def train(recipe: ActivityRecipe, folder: Path, *, report: Any, **options: Any) -> Path:
        asked.append({"recipe": recipe, "folder": folder, **options})
        figures = {
            "loss": 0.5, "miss": 0.02, "false": 0.03, "precision": 0.7, "recall": 0.25, "ap": 0.5,
        }  # fmt: skip
        report(100, {"loss": 0.625}, figures if recipe.development else {}, 100)
        return folder / "activity.safetensors"

    monkeypatch.setattr(diarize.training.activity, "train_activity", train)
    return asked


def test_the_activity_network_is_trained(
    cli: Cli, counters: list[dict[str, Any]], tmp_path: Path
) -> None:
    out = tmp_path / "net"
    result = cli(
        "train", "activity", "--speech", "s", "--speech", "t", "--turns", "a:0/2", "--turns", "b",
        "--rooms", "r", "--noise", "n", "--noise", "m", "--split", "train", "--dev-split", "dev",
        "--dev-turns", "d", "--start", "w", "--steps", 9, "--every", 4, "--workers", 0,
        "--until", 5, "--seed", 7, "--device", "auto", "--out", out,
    )  # fmt: skip
    assert result.status == 0
    assert result.out == (
        "step 100: loss 0.6250\n"
        "  unheard voices: loss 0.5000; speech missed 0.020, false 0.030; overlap precision 0.70, "
        "recall 0.25, average precision 0.500\n"
        "  best so far, and kept: step 100\n"
    )
    assert result.err == f"diarize: note: weights in {out / 'activity.safetensors'}\n"
    (asked,) = counters
    assert asked["recipe"] == ActivityRecipe(
        speech=[Path("s"), Path("t")], turns=["a:0/2", "b"], split="train", rooms=Path("r"),
        noise=[Path("n"), Path("m")], development="dev", development_turns=["d"], start=Path("w"),
        loop=CounterLoop(steps=9, every=4), seed=7,
    )  # fmt: skip
    assert (asked["until"], asked["workers"], asked["device"]) == (5, 0, "auto")
    cli("train", "activity", "--speech", "s", "--turns", "a", "--out", out)
    assert asdict(counters[1]["recipe"]) == asdict(
        ActivityRecipe(speech=[Path("s")], turns=["a"], noise=[], development_turns=[])
    )
    function = inspect.signature(train_activity).parameters
    for name in ("device", "workers", "until"):
        assert counters[1][name] == function[name].default


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--turns", "t"], "Missing option '--speech'"),
        (["--speech", "no"], "Missing option '--turns'"),
        (["--speech", "no", "--turns", "t", "--dev-split", "d"], "--dev-turns go together"),
        (["--speech", "no", "--turns", "t", "--device", "gpu"], "device gpu: not one of"),
        (["--speech", "no", "--turns", "t"], "t"),
        (["--speech", "no", "--turns", "t", "--steps", "0"], "--steps"),
    ],
)
def test_what_the_activity_network_cannot_be_trained_on(
    cli: Cli, tmp_path: Path, options: list[str], reason: str
) -> None:
    cli("train", "activity", "--out", tmp_path / "out", *options).assert_refused(reason)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the library is asked for; nothing is fitted."""
    asked: list[dict[str, Any]] = []

    def fit(
        recipe: FittingRecipe, folder: Path, *, report: Any, **options: Any
    ) -> FitResult | None:
        asked.append({"recipe": recipe, "folder": folder, **options})
        report(50, {"windows": 1.25, "kept": 0.5}, {}, None)
        if options["until"]:
            return None
        better = recipe.seed == 7
        return FitResult(folder / "model.safetensors", better, 0.5, 0.75, 0.0123, 4, 2)

    monkeypatch.setattr(diarize.training.recordings, "fit_recordings", fit)
    return asked


def test_a_fit_to_recordings(cli: Cli, fits: list[dict[str, Any]], tmp_path: Path) -> None:
    out = tmp_path / "o"
    command = ["train", "embedding", "--recordings", "r", "--out", out]
    result = cli(
        *command, "--recordings", "q", "--speech", "s", "--split", "train", "--rooms", "d",
        "--noise", "n", "--start", "m", "--steps", 9, "--cooldown", 3, "--rate", 0.5, "--every", 2,
        "--max-set-size", 2, "--workers", 0, "--seed", 7,
    )  # fmt: skip
    assert result.status == 0
    assert result.out == "step 50: loss windows 1.250 kept 0.500\n"
    assert result.err == (
        "diarize: note: learned from 4 recordings, judged by 2 that were held back: 75.0 % after "
        "50.0 % (± 1.2) of their windows, alone and mixed, go to their speakers\n"
        f"diarize: note: weights in {out / 'model.safetensors'}\n"
    )
    loop = fitting_loop(9, cooldown=3, rate=0.5, every=2, max_set_size=2)
    assert fits[0]["recipe"] == FittingRecipe(
        recordings=[Path("r"), Path("q")], speech=[Path("s")], split="train", rooms=Path("d"),
        noise=[Path("n")], start="m", loop=loop, seed=7,
    )  # fmt: skip
    result = cli(*command)
    assert "not surely better: the weights that it began with are in" in result.err
    assert fits[1]["recipe"] == FittingRecipe(recordings=[Path("r")], speech=[], noise=[])
    function = inspect.signature(fit_recordings).parameters
    for name in ("device", "workers", "until"):
        assert fits[1][name] == function[name].default
    result = cli(*command, "--until", 5)
    assert result.err == f"diarize: note: stopped; the same command goes on in {out}\n"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--recordings", "no"], "no: no such folder"),
        (["--recordings", ".", "--dev-split", "d"], "--dev-split goes without --recordings"),
        (["--recordings", ".", "--device", "gpu"], "device gpu: not one of auto, cpu, cuda"),
    ],
)
def test_what_cannot_be_fitted_to(
    cli: Cli, tmp_path: Path, options: list[str], reason: str
) -> None:
    cli("train", "embedding", "--out", tmp_path / "out", *options).assert_refused(reason)
    assert not list(tmp_path.iterdir())


def test_recordings_are_fitted_to(
    cli: Cli, talk: Path, tiny_weights: Path, repo_root: Path, tmp_path: Path
) -> None:
    """The conversation that ships, twice."""
    folder = tmp_path / "meetings"
    folder.mkdir()
    for stem in ("monday", "tuesday"):
        shutil.copy(repo_root / "egs" / "conversation.ogg", folder / f"{stem}.ogg")
        shutil.copy(repo_root / "egs" / "conversation.rttm", folder / f"{stem}.rttm")
    command = ["--recordings", folder, "--start", tiny_weights, "--steps", 1, "--workers", 0]
    result = cli("train", "embedding", *command, "--out", tmp_path / "mine")
    assert result.status == 0, result.err
    assert "learned from 1 recordings, judged by 1 that were held back" in result.err
    model = tmp_path / "mine" / "model.safetensors"
    assert cli("run", talk, "--backend", "ac", "--model", model).status == 0
