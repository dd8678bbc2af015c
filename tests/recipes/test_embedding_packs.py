"""Packs of the embedding's recipe, the episodes made of them, and trainings by the clock."""

from __future__ import annotations

import argparse
import queue
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from diarize.embedding import (
    CompositionalEmbedding,
    EmbeddingConfig,
    Knowledge,
    load_model,
    save_model,
)
from diarize.features import GAIN, mfcc
from diarize.mixing.voices import Voices
from diarize.training.episodes import Batch, EpisodeConfig
from diarize.training.loop import LoopConfig
from diarize.training.processes import ALONE
from diarize.training.rendering import Acoustics

NOISE = [np.random.default_rng(0).standard_normal(64_000)]
ROOMS = np.ones((1, 3, 80), np.float32)


@pytest.fixture
def recipe(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A script beside the others of its folder, as a module."""
    monkeypatch.syspath_prepend(repo_root / "recipes" / "embedding")
    return import_module


@pytest.fixture
def packs(recipe: Callable[[str], ModuleType]) -> ModuleType:
    return recipe("packs")


@pytest.fixture(scope="module")
def voices() -> Voices:
    time = np.arange(64_000) / 16_000
    return Voices.of(
        [(5000 * np.sin(2 * np.pi * (500 + 300 * v) * time)).astype(np.int16) for v in range(8)],
        np.array([f"s{v}" for v in range(8)]),
        np.array(["x"] * 8),
    )


def test_a_pack_is_one_once_all_of_it_is_there(
    packs: ModuleType, voices: Voices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packs.pack(voices, tmp_path, NOISE, ROOMS)
    assert packs.is_pack(tmp_path)
    with monkeypatch.context() as broken:
        broken.setattr(packs.np, "savez", lambda *_, **__: 1 / 0)
        for folder in (tmp_path / "new", tmp_path):  # also where there was one before
            with pytest.raises(ZeroDivisionError):
                packs.pack(voices, folder, NOISE, ROOMS)
            assert not packs.is_pack(folder)
    packs.pack(voices, tmp_path, NOISE, ROOMS)
    assert packs.is_pack(tmp_path)


def test_what_is_read_is_kept_whole(
    packs: ModuleType, voices: Voices, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(file: Any, array: np.ndarray) -> None:
        with file if hasattr(file, "write") else open(file, "wb") as out:
            out.write(b"\x93NUMPY")
            raise KeyboardInterrupt

    packs.pack(voices, tmp_path, NOISE, ROOMS)
    with monkeypatch.context() as broken:
        broken.setattr(packs.np, "save", cut_off)
        with pytest.raises(KeyboardInterrupt):
            packs.read_sound(tmp_path / "speech.opus", "cpu")
    first, kept = (packs.read_sound(tmp_path / "speech.opus", "cpu") for _ in range(2))
    assert (tmp_path / "speech.npy").exists()
    assert len(first) == 8 * 64_000 and torch.equal(first, kept)


def test_what_goes_on_hears_other_windows(
    recipe: Callable[[str], ModuleType],
    packs: ModuleType,
    voices: Voices,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed_episodes = recipe("packed_episodes")
    monkeypatch.setattr(packed_episodes, "torch_mfcc", lambda _: None)
    packs.pack(voices, tmp_path, NOISE, ROOMS)
    config = EpisodeConfig(episodes=1, seconds=(1.0,))
    first, same, later, again = (
        packed_episodes.Episodes(tmp_path, config, "cpu", 0, step=step)._windows()[0]
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
    monkeypatch.setattr(channels, "episodes_on", lambda _: lambda *told: asked.append(told))
    options = ["channels.py", "pack", "--model", model, "--out", out, "--seed", 3]
    monkeypatch.setattr("sys.argv", [str(option) for option in options])
    with pytest.warns(UserWarning, match="250 steps were taken of 1000"):  # 3000 are asked for
        channels.main()
    assert [told[3:] for told in asked] == [(3, False, 250)]


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("packed_episodes.Episodes", marks=pytest.mark.needs_torchaudio),
        "quick_episodes.QuickEpisodes",
    ],
)
def test_whom_an_episode_lets_speak_in_the_middle_is_heard_there(
    recipe: Callable[[str], ModuleType],
    packs: ModuleType,
    voices: Voices,
    kind: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module, _, name = kind.partition(".")
    episodes_of = getattr(recipe(module), name)
    monkeypatch.setattr(recipe("packed_episodes"), "AS_RECORDED", 1.0)
    n, speakers = len(voices.stretch(0)), len(voices)
    tones = 500.0 + 300.0 * np.arange(speakers)
    packs.pack(voices, tmp_path, [np.ones(n, np.float32)], np.ones((1, 3, 80), np.float32))
    clean = Acoustics(rooms=0.0, one_place=0.0, noisy=0.0, coded=0.0, gain=0.0)
    config = EpisodeConfig(episodes=2, seconds=(1.0,), acoustics=clean)
    episodes = episodes_of(tmp_path, config, "cpu", 0)
    chosen, plans = episodes._choose(), episodes._plan(16_000)
    audio = episodes._render(chosen, plans, 16_000).unflatten(0, (2, -1)).numpy()
    middle = audio[..., 8_000 - 800 : 8_000 + 800] * np.hanning(1600)
    power = np.abs(np.fft.rfft(middle))[..., np.round(tones / 10).astype(int)]  # of every tone
    loud = power > 0.2 * power.max(axis=2, keepdims=True)
    heard = np.take_along_axis(loud, chosen[:, None].numpy(), axis=2)
    np.testing.assert_array_equal(heard, plans.members.numpy())
    assert sorted(chosen[0].tolist()) == list(range(speakers))
    assert {1, 2, 3} == set(plans.members.sum(dim=2).flatten().tolist())

    heard = np.eye(speakers, dtype=np.float32)[[*range(7), 6]]  # the last two are one person
    both = replace(voices, heard=heard)
    packs.pack(both, tmp_path, [np.ones(n)], np.ones((1, 3, 80)), train=["s6", "s7"])
    fewer = replace(config, speakers=7, episodes=20)
    rows = episodes_of(tmp_path, fewer, "cpu", 0)._choose()
    assert not (((rows == 6).any(dim=1)) & ((rows == 7).any(dim=1))).any()
    of_train = episodes_of(tmp_path, config, "cpu", 0, False)
    assert len(of_train.starts) == 2
    batch = episodes.batch()
    assert batch.features.shape[1:] == (97, 32)
    assert batch.features.isfinite().all()


def test_windows_of_a_processor_have_rooms_noise_and_the_features_of_everywhere_else(
    recipe: Callable[[str], ModuleType], packs: ModuleType, voices: Voices, tmp_path: Path
) -> None:
    quick_episodes = recipe("quick_episodes")
    packs.pack(voices, tmp_path, NOISE, ROOMS)
    acoustics = Acoustics(rooms=1.0, one_place=0.5, noisy=1.0, coded=1.0)
    config = EpisodeConfig(episodes=2, seconds=(0.5,), acoustics=acoustics)
    episodes = quick_episodes.QuickEpisodes(tmp_path, config, "cpu", 0)
    before = episodes.variants.copy()
    batch = episodes.batch()
    assert batch.features.isfinite().all() and batch.features.shape == (96, 47, 32)
    assert (before != episodes.variants).any()  # a voice was varied anew

    sound = torch.zeros(3, 8_000)
    sound[:, 4_000] = 1.0
    where = torch.tensor([[0, 0, 0], [0, 0, 1], [1, 2, 0]])
    audio = episodes._in_rooms(sound, where, torch.tensor([0, 1, 0]))
    through = torch.ones(80) * audio[0].amax() / 2  # what `training_rooms` makes of the room
    assert audio.abs().sum(dim=1).nonzero()[:, 0].tolist() == [0, episodes.config.windows + 2]
    torch.testing.assert_close(audio[0, 4_000:4_080], 2 * through, rtol=0, atol=1e-5)

    noisy = episodes._with_noise(torch.ones(96, 8_000))
    level = (noisy - 1).square().mean(dim=1).log10().mul(-10)
    assert 3.0 - 0.1 < level.min() < level.max() < 30.0 + 0.1
    sound = 0.1 * torch.randn(3, 8_000)
    found = episodes.mfcc(GAIN * sound).mT.numpy()
    np.testing.assert_allclose(found, mfcc(sound.numpy()), atol=2e-4)


def test_f_in_bfloat16_has_the_vectors_and_the_gradients_of_f(
    recipe: Callable[[str], ModuleType],
) -> None:
    torch.manual_seed(0)
    model = CompositionalEmbedding(EmbeddingConfig(dim=16, hidden=32))
    f = model.encode
    features = torch.randn(6, 83, 32)

    def heard() -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        f.zero_grad()
        vectors = f(features)
        (vectors * torch.arange(16.0).sin()).sum().square().backward()
        return vectors.detach(), {k: p.grad.clone() for k, p in f.named_parameters()}

    vectors, gradients = heard()
    recipe("amx_encoder").hasten(model)
    close, slopes = heard()
    torch.testing.assert_close(close, vectors, rtol=0, atol=5e-3)
    for name, slope in slopes.items():
        if name != "score.bias":  # which no softmax feels
            assert (slope - gradients[name]).norm() < 0.03 * gradients[name].norm(), name


def _weights(name: str | Path, part: str) -> torch.Tensor:
    f = load_model(name).encode
    return (f if part == "join" else f.encoders[0]).get_submodule(part).weight


def test_a_training_by_the_clock_writes_weights_and_their_averages(
    recipe: Callable[[str], ModuleType],
    packs: ModuleType,
    voices: Voices,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    timed = recipe("timed")
    packs.pack(voices, tmp_path / "pack", NOISE, ROOMS)
    model = str(tmp_path / "one.safetensors")
    config = EmbeddingConfig(dim=8, hidden=8, branches=2, part=6)
    save_model(CompositionalEmbedding(config, Knowledge(window=1.5)), Path(model))
    told = argparse.Namespace(
        pack=tmp_path / "pack", out=tmp_path, model=model, device="cpu", seed=0, all=True
    )
    vars(told).update(episodes=1, learners=1, rate=1e-3, warmup=1, minutes=5 / 60, flat=True)
    made: queue.Queue[Batch] = queue.Queue()

    class Full(Exception):
        """Enough batches."""

    def put(batch: Batch) -> None:
        made.put(batch)
        if made.qsize() == 3:
            raise Full

    with pytest.raises(Full):
        timed.render(told, SimpleNamespace(put=put))
    clock = count().__next__  # a second at each look
    monkeypatch.setattr(timed, "time", SimpleNamespace(monotonic=clock))
    timed.learn(told, ALONE, made)
    assert made.empty()  # after three steps
    names = (model, told.out / "model.safetensors", told.out / "mean.safetensors")
    for part in ("project", "join"):
        before, after, mean = (_weights(name, part) for name in names)
        assert not torch.equal(after, before)
        assert (after - mean).norm() > (before - mean).norm() > 0
    assert all(load_model(name).knowledge.window == 1.5 for name in names)


def test_weights_are_averaged(recipe: Callable[[str], ModuleType], tmp_path: Path) -> None:
    names = [str(tmp_path / f"{name}.safetensors") for name in ("one", "other")]
    for name in names:
        save_model(CompositionalEmbedding(EmbeddingConfig(dim=8, hidden=8)), Path(name))
    one, other = (load_model(name).state_dict() for name in names)
    mean = recipe("timed").average(names).state_dict()
    for name, weights in mean.items():
        torch.testing.assert_close(weights, (one[name] + other[name]) / 2)


def test_a_window_is_confused_where_it_lies_nearest_to_another_set(
    recipe: Callable[[str], ModuleType],
) -> None:
    confusion = recipe("confusion")
    alone = torch.eye(5, dtype=torch.bool).repeat(8, 1)
    pairs = torch.tensor([[1, 1, 0, 0, 0], [0, 0, 1, 0, 1], [0, 1, 1, 1, 0]], dtype=torch.bool)
    members = torch.cat([alone, pairs])[None].repeat(2, 1, 1)
    heard = torch.nn.functional.normalize(members.float(), dim=-1)
    heard[0, 0] = heard[0, 1]  # one of 80 sounds like another voice,
    heard[1, 41] = heard[1, 40]  # one of 4 like another pair
    single = torch.arange(43) < 40
    features = torch.nn.functional.pad(heard.flatten(0, 1), (0, 27))[:, None]
    batch = Batch(
        features, torch.zeros(2, 5).long(), members, single.repeat(2, 1),
        torch.ones(2, 43, dtype=torch.bool),
    )  # fmt: skip
    model = CompositionalEmbedding(EmbeddingConfig(dim=5, hidden=8))
    model.forward = lambda windows: windows[:, 0, :5]
    singles, doubles = confusion.asked(model, batch)
    assert list(confusion.wrong([singles])) == [pytest.approx(1 / 80)]
    assert list(confusion.wrong([doubles, doubles])) == [pytest.approx(1 / 4)] * 3
