"""The compositional embedding: f says where a stretch of audio lies, g where a union would lie.

Li, He, Whitehill, "Compositional Clustering", appendix D: f is an LSTM of 2 layers with 256 hidden
units over MFCC, g(a, b) = W1 a + W1 b + W2 (a * b).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64
from torch import Tensor, nn
from torch.nn.functional import interpolate, normalize

from diarize.embedding.encoder import Rows, mfcc_rows
from diarize.embedding.knowledge import Knowledge
from diarize.features import N_COEFFICIENTS

# Coefficients of a window's average that f reads: all but the first, which is the level.
TIMBRE = N_COEFFICIENTS - 1


@dataclass(frozen=True)
class EmbeddingConfig:
    """What must be known to build the network before its weights are loaded.

    Attributes:
        dim: dimension of the embedding space.
        hidden: hidden units of each LSTM layer.
        layers: LSTM layers.
        stack: MFCC frames that enter the LSTM as one step.
        window: seconds of audio for which the model was trained.
        branches: networks side by side, each of these sizes, whose vectors are joined.
        part: dimension of the vector of each branch; 0: they share `dim` as they are, and nothing
            is projected.
    """

    dim: int = 256
    hidden: int = 256
    layers: int = 2
    stack: int = 4
    window: float = 2.0
    branches: int = 1
    part: int = 0

    @property
    def own(self) -> int:
        """Dimension of the vector of each branch."""
        return self.part or self.dim // self.branches

    @property
    def read(self) -> int:
        """Numbers that enter the LSTM in a step: stacked frames, and the window's average."""
        return N_COEFFICIENTS * self.stack + TIMBRE

    @property
    def pooled(self) -> int:
        """Numbers that the last layer sees: mean and deviation of outputs, mean of the frames."""
        return 2 * self.hidden + TIMBRE


# The pooling's preference for a place in the window is a curve through this many points.
POSITIONS = 9
LEAST_VARIANCE = 1e-4  # below which the spread of an output over the window is not told apart


class Encoder(nn.Module):
    """f: the MFCC of a window to a unit vector.

    The window's average is taken off and the rest stacked into steps. Beside each step the LSTM
    reads the average itself, the voice's long-term spectrum as the room and the microphone colour
    it: in one recording these are nearly the same for all, and the voice is what differs.

    Mean and standard deviation of the LSTM's outputs and the mean of the frames go to the last
    layer, all with the same weights, which depend on what is heard (a learned score of each step)
    and on where in the window it is heard (a window is labelled by who is active in its middle).
    """

    spread: Tensor
    average_centre: Tensor
    average_spread: Tensor

    def __init__(self, config: EmbeddingConfig) -> None:
        super().__init__()
        self.stack = config.stack
        # Set once before training: the spread of each coefficient around a window's average, and
        # where averages lie themselves.
        self.register_buffer("spread", torch.ones(N_COEFFICIENTS))
        self.register_buffer("average_centre", torch.zeros(TIMBRE))
        self.register_buffer("average_spread", torch.ones(TIMBRE))
        self.lstm = nn.LSTM(config.read, config.hidden, config.layers, batch_first=True)
        self.score = nn.Linear(config.hidden, 1)
        self.place = nn.Parameter(torch.zeros(POSITIONS))
        self.project = nn.Linear(config.pooled, config.own)

    @property
    def encoders(self) -> list[Encoder]:
        """It alone."""
        return [self]

    @property
    def last_layers(self) -> list[nn.Module]:
        """What `locate` goes through."""
        return [self.project]

    def forward(self, features: Float[Tensor, "b frames 32"]) -> Float[Tensor, "b dim"]:
        """Embed windows of at least `stack` frames.

        Frames that do not fill a last step are left out.
        """
        return self.locate(self.pool(features))

    def locate(self, pooled: Float[Tensor, "*batch pooled"]) -> Float[Tensor, "*batch dim"]:
        """Bring what was heard to the sphere: the last layer."""
        return normalize(self.project(pooled).float(), dim=-1)

    def measure(self, batches: Sequence[Float[Tensor, "_ _ 32"]]) -> None:
        """Set how coefficients spread, and where averages lie, from windows to be trained on."""
        averages = torch.cat([windows.mean(dim=1) for windows in batches])[:, 1:]
        around = [(w - w.mean(dim=1, keepdim=True)).flatten(0, 1) for w in batches]
        self.spread.copy_(torch.cat(around).std(dim=0))
        self.average_centre.copy_(averages.mean(dim=0))
        self.average_spread.copy_(averages.std(dim=0))

    def pool(self, features: Float[Tensor, "b frames 32"]) -> Float[Tensor, "b pooled"]:
        """Average what is heard in windows: all layers but the last."""
        b, frames, coefficients = features.shape
        steps = frames // self.stack
        features = features[:, : steps * self.stack]
        average = features.mean(dim=1)
        timbre = (average[:, 1:] - self.average_centre) / self.average_spread
        around = features - average[:, None]
        stacked = (around / self.spread).reshape(b, steps, self.stack * coefficients)
        entering = torch.cat([stacked, timbre[:, None].expand(-1, steps, -1)], dim=-1)
        mean, square, weights = self.listen(entering)
        deviation = ((square - mean.square()).clamp(min=0.0) + LEAST_VARIANCE).sqrt()
        per_step = around[..., 1:].reshape(b, steps, self.stack, TIMBRE).mean(dim=2)
        coloured = torch.einsum("bt,btc->bc", weights, per_step) / self.average_spread + timbre
        return torch.cat([mean, deviation, coloured], dim=-1)

    def listen(
        self, entering: Float[Tensor, "b steps read"]
    ) -> tuple[Float[Tensor, "b hidden"], Float[Tensor, "b hidden"], Float[Tensor, "b steps"]]:
        """Hear all steps: mean and mean square of the outputs, and the weights of the steps."""
        heard, _ = self.lstm(entering)
        heard = heard.float()  # (b, steps, hidden)
        weights = (self.score(heard)[..., 0].float() + self.places(heard.shape[1])).softmax(dim=1)
        mean, square = (torch.einsum("bt,bth->bh", weights, x) for x in (heard, heard.square()))
        return mean, square, weights

    def places(self, steps: int) -> Float[Tensor, " steps"]:
        """Preference for each of so many places in a window."""
        return interpolate(self.place[None, None], steps, mode="linear", align_corners=True)[0, 0]


class Branches(nn.Module):
    """f as several networks that hear the same window: their vectors side by side.

    Networks that were trained on different sounds err in different places. Most of their directions
    say the same: a projection keeps those that differ, so that clustering has less to compute.
    """

    def __init__(self, config: EmbeddingConfig) -> None:
        super().__init__()
        self.each = nn.ModuleList(Encoder(config) for _ in range(config.branches))
        self.join = None
        if config.part:
            self.join = nn.Linear(config.branches * config.part, config.dim, bias=False)

    @property
    def encoders(self) -> list[Encoder]:
        """The networks."""
        return [encoder for encoder in self.each if isinstance(encoder, Encoder)]

    @property
    def last_layers(self) -> list[nn.Module]:
        """What `locate` goes through."""
        own: list[nn.Module] = [encoder.project for encoder in self.encoders]
        return own if self.join is None else [*own, self.join]

    def forward(self, features: Float[Tensor, "b frames 32"]) -> Float[Tensor, "b dim"]:
        """Embed windows of at least `stack` frames."""
        return self.joined([encoder(features) for encoder in self.encoders])

    def pool(self, features: Float[Tensor, "b frames 32"]) -> Float[Tensor, "b pooled"]:
        """Average what is heard in windows: all layers but the last, network after network."""
        return torch.cat([encoder.pool(features) for encoder in self.encoders], dim=-1)

    def locate(self, pooled: Float[Tensor, "*batch pooled"]) -> Float[Tensor, "*batch dim"]:
        """Bring what was heard to the sphere: the last layers."""
        parts = pooled.chunk(len(self.each), dim=-1)
        return self.joined([e.locate(part) for e, part in zip(self.encoders, parts, strict=True)])

    def measure(self, batches: Sequence[Float[Tensor, "_ _ 32"]]) -> None:
        """Set how coefficients spread, and where averages lie, from windows to be trained on."""
        for encoder in self.encoders:
            encoder.measure(batches)

    def joined(self, vectors: Sequence[Float[Tensor, "*batch own"]]) -> Float[Tensor, "*batch dim"]:
        """Join the unit vectors of the branches."""
        side_by_side = torch.cat(tuple(vectors), dim=-1)
        if self.join is not None:
            side_by_side = self.join(side_by_side).float()
        return normalize(side_by_side, dim=-1)


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
    """f and g together, as they are trained, saved and loaded, with what is known of them."""

    def __init__(
        self, config: EmbeddingConfig | None = None, knowledge: Knowledge | None = None
    ) -> None:
        super().__init__()
        self.config = config or EmbeddingConfig()
        self.knowledge = knowledge or Knowledge()
        kind = Encoder if self.config.branches == 1 else Branches
        self.encode: Encoder | Branches = kind(self.config)
        self.add_module("compose", Composition(self.config.dim))

    @property
    def compose(self) -> Composition:
        """g; of the class, since Python from 3.12 on looks for members of a protocol there."""
        found = self.__getattr__("compose")
        assert isinstance(found, Composition)
        return found

    def forward(self, features: Float[Tensor, "b frames 32"]) -> Float[Tensor, "b dim"]:
        """Embed windows: f."""
        return self.encode(features)

    @property
    def dim(self) -> int:
        """Dimension of the vectors."""
        return self.config.dim

    @property
    def rows(self) -> Rows:
        """How f hears."""
        return mfcc_rows(self.config.stack)

    @property
    def device(self) -> str:
        """What it runs on, "cpu" or "cuda"; on a CPU, several threads embed a batch each."""
        return next(self.parameters()).device.type

    def vectors(self, windows: Float32[np.ndarray, "b rows 32"]) -> Float32[np.ndarray, "b dim"]:
        """Embed windows that are no tensors yet."""
        device = next(self.parameters()).device
        with torch.inference_mode():
            return self(torch.from_numpy(windows).to(device)).float().cpu().numpy()


def compose_triples(
    compose: nn.Module,
    a: Float[Tensor, "*batch dim"],
    b: Float[Tensor, "*batch dim"],
    c: Float[Tensor, "*batch dim"],
) -> Float[Tensor, "*batch dim"]:
    """Compose three unit vectors: the normalised average over the orders of the recursion."""
    orders = compose(compose(a, b), c) + compose(compose(a, c), b) + compose(compose(b, c), a)
    return normalize(orders, dim=-1)
