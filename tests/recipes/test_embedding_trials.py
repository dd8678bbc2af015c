"""Changes of the training that the embedding's recipe tries: each does what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from diarize.embedding import CompositionalEmbedding, EmbeddingConfig
from diarize.mixing.voices import LOUDNESS, Voices
from diarize.training.episodes import EpisodeConfig
from diarize.training.loop import LoopConfig
from diarize.training.rendering import Acoustics
from diarize.training.shifts import SHIFTS

SMALL = EpisodeConfig(
    episodes=2, speakers=4, pairs=3, triples=1, starts=1, changes=1, seconds=(0.8,)
)


@pytest.fixture
def trials(
    recipe_module: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "recipes/embedding"))
    return recipe_module("embedding/trials.py")


COUNT = 24


@pytest.fixture(scope="module")
def voices() -> Voices:
    """Speakers, two seconds of noise each, and as many shifts as training makes of them."""
    rng = np.random.default_rng(0)
    n = 32_000
    of = np.concatenate([np.arange(COUNT), np.repeat(np.arange(COUNT), len(SHIFTS))])
    places = rng.standard_normal((COUNT, 256)).astype(np.float32)
    places /= np.linalg.norm(places, axis=1, keepdims=True)
    return Voices(
        rng.integers(-3000, 3000, n * COUNT).astype(np.int16),
        n * of,
        n * (of + 1),
        np.array([f"s{v}" for v in of]),
        np.array(["x"] * len(of)),
        places[of],
    )


def test_every_change_learns(
    trials: ModuleType, voices: Voices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "GROWTH", ((0.0, 4, 2), (0.5, 6, 1)))
    loop = LoopConfig(steps=2, cooldown=2, warmup=1, rate=1e-3)
    start = CompositionalEmbedding(EmbeddingConfig(hidden=8)).eval()
    own = "nothing triplets margin-head consistency growing no-shifts"
    for name in own.split():  # what the others change is replaced by what is small
        small = replace(trials.CHANGES[name], episodes=SMALL, model=start.config)
        model, parts = trials.learn(small, voices, [], loop, start)
        moved = (model.encode.project.weight - start.encode.project.weight).abs().max()
        assert moved > 0 and np.isfinite(list(parts.values())).all(), name


def test_episodes_grow(trials: ModuleType, voices: Voices) -> None:
    maker = trials.GrowingMaker(voices, [], replace(SMALL, singles=1), steps=8)
    sizes = [tuple(maker[step].voices.shape) for step in range(8)]
    assert sizes[::2] == sizes[1::2] == [(n, speakers) for _, speakers, n in trials.GROWTH]


def test_parts_of_a_pair_are_its_very_sound(trials: ModuleType, voices: Voices) -> None:
    dry = replace(
        SMALL, acoustics=Acoustics(gain=0.0, rooms=0.0, one_place=0.0, noisy=0.0, coded=0.0)
    )
    maker = trials.PartsMaker(voices, [], dry, 1)
    heard = []
    maker._features = lambda audio: heard.append(audio) or audio[:, :32, None].mT
    batch = maker[0].to("cpu")
    windows, parts = heard
    pairs = windows.unflatten(0, (2, -1))[:, batch.pairs].flatten(0, 1)
    assert parts.square().mean(dim=1).sqrt().numpy() == pytest.approx(LOUDNESS, rel=1e-4)
    for pair, both in zip(pairs, parts.unflatten(0, (-1, 2)), strict=True):
        weights = torch.linalg.lstsq(both.T, pair[:, None]).solution
        assert torch.allclose(both.T @ weights, pair[:, None], atol=1e-5)
        assert (batch.members[0, batch.pairs].sum(dim=1) == 2).all()


def test_triplets_are_content_with_a_margin(trials: ModuleType, voices: Voices) -> None:
    """Windows at their own sets cost nothing; at another's, they cost more than the margin."""
    model = CompositionalEmbedding(EmbeddingConfig(dim=8, hidden=4))
    trainer = trials.TripletTrainer(model, LoopConfig(max_set_size=1), voices)
    batch = trials.usual_maker(voices, [], replace(SMALL, pairs=0, triples=0), 1)[0]
    own = torch.eye(8)[batch.members.int().argmax(dim=2)]
    costs = [float(trainer.losses(batch, v)["windows"]) for v in (own, own.roll(1, dims=1))]
    assert costs[0] == 0 and costs[1] >= 0
    wrong = own.clone()
    wrong[:, -2:] = torch.eye(8)[7]  # near nobody, so as far from its own set as from all others
    assert float(trainer.losses(batch, wrong)["windows"]) == pytest.approx(
        10 * trials.TRIPLET_MARGIN
    )


def test_shifted_voices_are_left_out(trials: ModuleType, voices: Voices) -> None:
    kept = trials.without_shifts(voices)
    assert len(kept) == len(set(kept.speakers)) == COUNT
