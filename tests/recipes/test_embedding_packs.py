"""Packs of the embedding's recipe for a GPU: whole or not at all, and how trainings go on there."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from diarize.embedding import CompositionalEmbedding, EmbeddingConfig, load_model, save_model
from diarize.mixing.voices import Voices
from diarize.training.episodes import EpisodeConfig
from diarize.training.loop import LoopConfig

NOISE = [np.random.default_rng(0).standard_normal(64_000)]
ROOMS = np.ones((1, 3, 80), np.float32)


@pytest.fixture
def recipe(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A script beside the others of its folder, as a module."""
    monkeypatch.syspath_prepend(repo_root / "recipes" / "embedding")
    return import_module


@pytest.fixture
def on_gpu(recipe: Callable[[str], ModuleType]) -> ModuleType:
    return recipe("on_gpu")


@pytest.fixture(scope="module")
def voices() -> Voices:
    time = np.arange(64_000) / 16_000
    return Voices.of(
        [(5000 * np.sin(2 * np.pi * (500 + 300 * v) * time)).astype(np.int16) for v in range(8)],
        np.array([f"s{v}" for v in range(8)]),
        np.array(["x"] * 8),
    )


def test_a_pack_is_one_once_all_of_it_is_there(
    on_gpu: ModuleType, voices: Voices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_gpu.pack(voices, tmp_path, NOISE, ROOMS)
    assert on_gpu.is_pack(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(on_gpu.np, "savez", lambda *_, **__: 1 / 0)
        for folder in (tmp_path / "new", tmp_path):  # also where there was one before
            with pytest.raises(ZeroDivisionError):
                on_gpu.pack(voices, folder, NOISE, ROOMS)
            assert not on_gpu.is_pack(folder)
    on_gpu.pack(voices, tmp_path, NOISE, ROOMS)
    assert on_gpu.is_pack(tmp_path)


def test_what_is_read_is_kept_whole(
    on_gpu: ModuleType, voices: Voices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(file: Any, array: np.ndarray) -> None:
        with file if hasattr(file, "write") else open(file, "wb") as out:
            out.write(b"\x93NUMPY")
            raise KeyboardInterrupt

    on_gpu.pack(voices, tmp_path, NOISE, ROOMS)
    with monkeypatch.context() as broken:
        broken.setattr(on_gpu.np, "save", cut_off)
        with pytest.raises(KeyboardInterrupt):
            on_gpu._read(tmp_path / "speech.opus", "cpu")
    first, kept = (on_gpu._read(tmp_path / "speech.opus", "cpu") for _ in range(2))
    assert (tmp_path / "speech.npy").exists()
    assert len(first) == 8 * 64_000 and torch.equal(first, kept)


def test_what_goes_on_hears_other_windows(
    on_gpu: ModuleType, voices: Voices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(on_gpu, "torch_mfcc", lambda _: None)
    on_gpu.pack(voices, tmp_path, NOISE, ROOMS)
    config = EpisodeConfig(episodes=1, seconds=(1.0,))
    first, same, later, again = (
        on_gpu.Episodes(tmp_path, config, "cpu", 0, step=step)._windows()[0]
        for step in (0, 0, 250, 250)
    )
    assert torch.equal(first, same) and torch.equal(later, again)
    assert not torch.equal(first, later)


def test_a_channel_is_learned_on_from_the_step_of_the_checkpoint(
    recipe: Callable[[str], ModuleType], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    channels, asked = recipe("channels"), []
    model, out = tmp_path / "model.safetensors", tmp_path / "out"
    save_model(CompositionalEmbedding(EmbeddingConfig(dim=8, hidden=8, layers=1)), model)
    before, start = load_model(model), load_model(model)
    trainer = channels.Unmoved(before, start, LoopConfig(1000, 1e-3, 100, 900))
    trainer.step = 250
    out.mkdir()
    trainer.save(out / "checkpoint.safetensors")
    monkeypatch.setattr(channels, "is_pack", lambda _: True)
    monkeypatch.setattr(channels, "train", lambda *_, **__: None)
    monkeypatch.setattr(channels, "Episodes", lambda *told: asked.append(told))
    options = ["channels.py", "pack", "--model", model, "--out", out, "--seed", 3]
    monkeypatch.setattr("sys.argv", [str(option) for option in options])
    with pytest.warns(UserWarning, match="250 steps were taken of 1000"):  # 3000 are asked for
        channels.main()
    assert [told[3:] for told in asked] == [(3, False, 250)]
