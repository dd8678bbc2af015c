"""The embedding's recipe: weights of the first form grow into today's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import normalize

from diarize.embedding import CompositionalEmbedding, EmbeddingConfig
from diarize.mixing.voices import Voices
from diarize.training.loop import LoopConfig


class FirstEncoder(nn.Module):
    """f as it was: no averages are heard, and the last layer sees means of outputs alone."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("spread", torch.rand(32) + 0.5)
        self.lstm = nn.LSTM(128, 256, 2, batch_first=True)
        self.score = nn.Linear(256, 1)
        self.place = nn.Parameter(torch.zeros(9))
        self.project = nn.Linear(256, 256)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        around = (features - features.mean(dim=1, keepdim=True)) / self.spread
        heard, _ = self.lstm(around.reshape(len(features), -1, 128))
        weights = self.score(heard).softmax(dim=1)
        return normalize(self.project((weights * heard).sum(dim=1)), dim=-1)


def test_grown_weights_say_what_they_said(
    recipe_module: Callable[[str], ModuleType],
) -> None:
    torch.manual_seed(0)
    n = 3 * 16_000
    voices = Voices(
        np.random.default_rng(0).integers(-3000, 3000, 8 * n).astype(np.int16),
        n * np.arange(8),
        n * np.arange(1, 9),
        np.array([f"s{v}" for v in range(8)]),
        np.array(["x"] * 8),
    )
    first, g = FirstEncoder(), nn.Linear(256, 256, bias=False)
    weights = {f"encode.{name}": value for name, value in first.state_dict().items()}
    weights |= {f"compose.{name}.weight": g.weight.detach() for name in ("w1", "w2")}
    model = recipe_module("embedding/grow.py").grown(weights, voices)
    features = 3 * torch.randn(2, 48, 32) + 5 * torch.randn(2, 1, 32)
    torch.testing.assert_close(model(features), first(features))
    torch.testing.assert_close(model.compose.w2.weight, g.weight)
    assert (model.encode.average_spread != 1).all()  # measured, for what is learned next


def test_branches_side_by_side_learn_the_mean_of_their_models(
    recipe_module: Callable[[str], ModuleType],
) -> None:
    torch.manual_seed(0)
    narrow = recipe_module("embedding/narrow.py")
    sizes = EmbeddingConfig(dim=8, hidden=3)
    models = [
        CompositionalEmbedding(sizes).eval(),
        CompositionalEmbedding(replace(sizes, dim=5, branches=2, part=8)).eval(),
    ]
    for model in models:
        nn.init.normal_(model.compose.w2.weight, std=0.2)
    encoders = [encoder for model in models for encoder in model.encode.encoders]
    batches = []
    for features in 5 * torch.randn(40, 30, 24, 32):
        with torch.no_grad():
            branches = torch.cat([encoder(features) for encoder in encoders], dim=-1)
            vectors = [model(features).unflatten(0, (2, 15)) for model in models]
        batches.append(narrow.Heard(branches.unflatten(0, (2, 15)), vectors, 12))
    pairs = torch.tensor([[0, 3], [1, 2]])
    last = batches[-1]
    one, two = last.vectors
    unions = [m.compose(v[:, 3], v[:, 2]) for m, v in zip(models, (one, two), strict=True)]
    target = narrow.wanted(models, last, pairs)  # the last row is of the second union
    near = [(u * v[:, 7]).sum(dim=-1) for u, v in zip(unions, (one, two), strict=True)]
    torch.testing.assert_close(target[:, -1, 7], (near[0] + near[1]) / 2)

    found = narrow.narrowed(models, batches, 13)
    assert (found.config.branches, found.config.part, found.config.dim) == (3, 8, 13)

    def off() -> float:
        short = normalize(found.encode.join(last.branches), dim=-1)
        rows = torch.cat([short, found.compose(short[:, pairs[0]], short[:, pairs[1]])], dim=1)
        return float((rows @ rows.mT - target).square().mean().detach())

    before = off()
    narrow.learn(models, found.train(), batches, 20)
    assert off() < 0.9 * before
    other = CompositionalEmbedding(EmbeddingConfig(dim=8, hidden=4))
    with pytest.raises(ValueError, match="the same sizes"):
        narrow.narrowed([models[0], other], batches, 13)


def test_a_channel_learns_to_change_nothing(
    recipe_module: Callable[[str], ModuleType],
) -> None:
    torch.manual_seed(0)
    channels = recipe_module("embedding/channels.py")
    rng, n = np.random.default_rng(0), 2 * 16_000
    voices = Voices.of(
        [rng.integers(-3000, 3000, n).astype(np.int16) for _ in range(8)],
        *(np.array([f"{of}{v}" for v in range(8)]) for of in ("s", "x")),
    )
    pairs = channels.pairs(voices, [], np.ones((1, 3, 80), np.float32), seed=0)
    first = pairs[0]
    windows = pairs.before.config.windows
    after, before = first.features.split(windows)
    assert first.known.shape == (2, windows)
    torch.testing.assert_close(before, pairs.before[0].features)
    assert ((after - before)[..., 1:].abs().mean(dim=(1, 2)) > 0.1).all()

    start = CompositionalEmbedding(EmbeddingConfig(dim=8, hidden=8)).eval()
    trainer = channels.Unmoved(start, start, LoopConfig(40, 3e-3, 1, 1, bf16=False))
    losses = [trainer.advance(first) for _ in range(40)]
    assert abs(losses[0]["none"]) < 1e-5  # f begins as it was
    assert losses[-1]["channel"] < 0.8 * losses[0]["channel"]
    torch.testing.assert_close(trainer.model.compose.w1.weight, start.compose.w1.weight)
    assert not any(p.grad is not None for p in start.parameters())


def test_ways_of_the_report(recipe_module: Callable[[str], ModuleType]) -> None:
    report = recipe_module("embedding/report.py")
    rng = np.random.default_rng(0)
    sides = rng.normal(0, 0.05, (2, 15, 8000)).astype(np.float32)
    heard = report.other_microphones(rng, sides)
    power = np.square(np.abs(np.fft.rfft(heard))).mean(axis=1)
    same, other = np.log(power[0, 100:3000:100]), np.log(power[1, 100:3000:100])
    assert heard.shape == sides.shape and heard.dtype == np.float32
    assert np.abs(same - other).mean() > 0.2  # one microphone for references, another for queries
    noise = report.in_noise(rng, sides) - sides
    decibels = 20 * np.log10(sides.std(axis=-1) / noise.std(axis=-1))
    low, high = report.SNR
    assert low - 0.2 < decibels.min() < decibels.max() < high + 0.2
