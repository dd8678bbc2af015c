"""The compositional embedding: f says where a stretch of audio lies, g where a union would lie.

Li, He, Whitehill, "Compositional Clustering", appendix D: f is an LSTM of 2 layers with 256 hidden
units over MFCC, g(a, b) = W1 a + W1 b + W2 (a * b).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float64
from torch import Tensor, nn
from torch.nn.functional import interpolate, normalize

from diarize.features import N_COEFFICIENTS


@dataclass(frozen=True)
class EmbeddingConfig:
    """What must be known to build the network before its weights are loaded.

    Attributes:
        dim: dimension of the embedding space.
        hidden: hidden units of each LSTM layer.
        layers: LSTM layers.
        stack: MFCC frames that enter the LSTM as one step.
        window: seconds of audio for which the model was trained.
    """

    dim: int = 256
    hidden: int = 256
    layers: int = 2
    stack: int = 4
    window: float = 2.0


# The pooling's preference for a place in the window is a curve through this many points.
POSITIONS = 9


class Encoder(nn.Module):
    """f: the MFCC of a window to a unit vector.

    Frames are stacked, read by the LSTM, and its outputs averaged with weights that depend on what
    is heard (a learned score of each step) and on where in the window it is heard (a window is
    labelled by who is active in its middle).
    """

    spread: Tensor

    def __init__(self, config: EmbeddingConfig) -> None:
        super().__init__()
        self.stack = config.stack
        # Spread of each coefficient over the training speech; set once before training.
        self.register_buffer("spread", torch.ones(N_COEFFICIENTS))
        self.lstm = nn.LSTM(
            N_COEFFICIENTS * config.stack, config.hidden, config.layers, batch_first=True
        )
        self.score = nn.Linear(config.hidden, 1)
        self.place = nn.Parameter(torch.zeros(POSITIONS))
        self.project = nn.Linear(config.hidden, config.dim)

    def forward(self, features: Float[Tensor, "b frames 32"]) -> Float[Tensor, "b dim"]:
        """Embed windows of at least `stack` frames, whose mean has been subtracted.

        Frames that do not fill a last step are left out.
        """
        return self.locate(self.pool(features))

    def locate(self, pooled: Float[Tensor, "*batch hidden"]) -> Float[Tensor, "*batch dim"]:
        """Bring what was heard to the sphere: the last layer."""
        return normalize(self.project(pooled).float(), dim=-1)

    def pool(self, features: Float[Tensor, "b frames 32"]) -> Float[Tensor, "b hidden"]:
        """Average what is heard in windows: all layers but the last."""
        b, frames, coefficients = features.shape
        steps = frames // self.stack
        scaled = features[:, : steps * self.stack] / self.spread
        heard, _ = self.lstm(scaled.reshape(b, steps, self.stack * coefficients))
        # (b, steps, hidden)
        place = interpolate(self.place[None, None], steps, mode="linear", align_corners=True)[0, 0]
        weights = (self.score(heard)[..., 0] + place).float().softmax(dim=1)
        return torch.einsum("bt,bth->bh", weights, heard.float())


class Composition(nn.Module):
    """g(a, b) = W1 a + W1 b + W2 (a * b), brought back to the sphere.

    It begins as the plain mean of its arguments: W1 the identity, W2 zero.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.w1 = nn.Linear(dim, dim, bias=False)
        self.w2 = nn.Linear(dim, dim, bias=False)
        nn.init.eye_(self.w1.weight)
        nn.init.zeros_(self.w2.weight)

    def forward(
        self, a: Float[Tensor, "*batch dim"], b: Float[Tensor, "*batch dim"]
    ) -> Float[Tensor, "*batch dim"]:
        """Compose unit vectors into the unit vector of their union."""
        dtype = self.w1.weight.dtype
        a, b = a.to(dtype), b.to(dtype)
        return normalize(self.w1(a + b) + self.w2(a * b), dim=-1)

    def hadamard_matrices(
        self,
    ) -> tuple[Float64[np.ndarray, "dim dim"], Float64[np.ndarray, "dim dim"]]:
        """W1 and W2, with which a clustering composes many pairs at once."""
        w1, w2 = (w.weight.detach().double().cpu().numpy() for w in (self.w1, self.w2))
        return w1, w2


class CompositionalEmbedding(nn.Module):
    """f and g together, as they are trained, saved and loaded."""

    def __init__(self, config: EmbeddingConfig | None = None) -> None:
        super().__init__()
        self.config = config or EmbeddingConfig()
        self.encode = Encoder(self.config)
        self.compose = Composition(self.config.dim)

    def forward(self, features: Float[Tensor, "b frames 32"]) -> Float[Tensor, "b dim"]:
        """Embed windows: f."""
        return self.encode(features)


def compose_triples(
    compose: nn.Module,
    a: Float[Tensor, "*batch dim"],
    b: Float[Tensor, "*batch dim"],
    c: Float[Tensor, "*batch dim"],
) -> Float[Tensor, "*batch dim"]:
    """Compose three unit vectors: the normalised average over the orders of the recursion."""
    orders = compose(compose(a, b), c) + compose(compose(a, c), b) + compose(compose(b, c), a)
    return normalize(orders, dim=-1)
