"""The embedding's recipe: weights of the first form grow into today's."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np
import torch
from torch import nn
from torch.nn.functional import normalize

from diarize.embedding import CompositionalEmbedding, EmbeddingConfig
from diarize.mixing.voices import Voices


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
        np.array(["?"] * 8),
    )
    first, g = FirstEncoder(), nn.Linear(256, 256, bias=False)
    weights = {f"encode.{name}": value for name, value in first.state_dict().items()}
    weights |= {f"compose.{name}.weight": g.weight.detach() for name in ("w1", "w2")}
    model = recipe_module("embedding/grow.py").grown(weights, voices)
    features = 3 * torch.randn(2, 48, 32) + 5 * torch.randn(2, 1, 32)
    torch.testing.assert_close(model(features), first(features))
    torch.testing.assert_close(model.compose.w2.weight, g.weight)
    assert (model.encode.average_spread != 1).all()  # measured, for what is learned next


def test_joined_models_compose_each_part_as_their_own(
    recipe_module: Callable[[str], ModuleType],
) -> None:
    torch.manual_seed(0)
    models = [CompositionalEmbedding(EmbeddingConfig(dim=4, hidden=3)).eval() for _ in range(2)]
    for model in models:
        nn.init.normal_(model.compose.w2.weight)
    found = recipe_module("embedding/join.py").joined(models)
    a, b = torch.randn(2, 3, 24, 32)
    parts = [model.compose(model(a), model(b)) for model in models]
    # On the sphere of all dimensions, not each on its own: directions are the same.
    composed = found.compose(found(a), found(b)).chunk(2, dim=-1)
    for part, own in zip(composed, parts, strict=True):
        torch.testing.assert_close(normalize(part, dim=-1), own)


def test_narrowing_keeps_cosines_and_learns_where_unions_lie(
    recipe_module: Callable[[str], ModuleType],
) -> None:
    torch.manual_seed(0)
    models = [CompositionalEmbedding(EmbeddingConfig(dim=8, hidden=3)).eval() for _ in range(2)]
    for model in models:
        nn.init.normal_(model.compose.w2.weight)
    joined = recipe_module("embedding/join.py").joined(models)
    narrow = recipe_module("embedding/narrow.py")
    axes = torch.linalg.qr(torch.randn(16, 6))[0]  # vectors lie in six of the sixteen dimensions
    vectors = normalize(torch.randn(40, 4, 20, 6), dim=-1) @ axes.T
    found = narrow.narrowed(joined, vectors.flatten(0, 2), 6)
    assert found.config.dim == 6 and found.config.part == joined.config.own
    short = found.encode.join(vectors)
    torch.testing.assert_close(short @ short.mT, vectors @ vectors.mT)

    a, b = vectors[:, :, :10], vectors[:, :, 10:]

    def apart() -> float:
        wanted = normalize(found.encode.join(joined.compose(a, b)), dim=-1)
        left, right = (normalize(found.encode.join(x), dim=-1) for x in (a, b))
        return float((1 - (found.compose(left, right) * wanted).sum(dim=-1)).mean().detach())

    before = apart()
    narrow.learn(joined, found.train(), [(batch, 20) for batch in vectors], 5)
    assert apart() < 0.7 * before


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
