"""f, a ResNet-18 for small images, and g: the embedding that knows what a superposition is.

The paper's f is a ResNet-18 (appendix E). This one has its four stages of two basic blocks; the
stem is a 5 x 5 convolution with stride 2 and no pooling after it, for images of 40 pixels, and the
first stage has 32 channels instead of 64, for two CPU cores.
"""

from __future__ import annotations

from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import normalize, relu

CHANNELS = 32
DIM = 64
"""Dimension of the embedding space."""

BATCH = 256
"""Canvases embedded at a time, where no gradient is needed."""


class Block(nn.Module):
    """Two convolutions beside a shortcut (He et al. 2016)."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(after)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or before != after:
            self.shortcut = nn.Sequential(
                nn.Conv2d(before, after, 1, stride, bias=False), nn.BatchNorm2d(after)
            )

    def forward(self, x: Tensor) -> Tensor:
        y = relu(self.first_norm(self.first(x)))
        return relu(self.second_norm(self.second(y)) + self.shortcut(x))


class Encoder(nn.Module):
    """f: images to unit vectors. Trained in half precision, which is faster on new processors."""

    def __init__(self, channels: int = CHANNELS, dim: int = DIM) -> None:
        super().__init__()
        layers: list[nn.Module] = [
            nn.Conv2d(1, channels, 5, 2, 2, bias=False),
            nn.BatchNorm2d(channels),
            nn.ReLU(),
        ]
        before = channels
        for stage, stride in enumerate((1, 2, 2, 2)):
            after = channels << stage
            layers += [Block(before, after, stride), Block(after, after, 1)]
            before = after
        self.body = nn.Sequential(*layers)
        self.project = nn.Linear(before, dim)

    def forward(self, images: Float[Tensor, "n side side"]) -> Float[Tensor, "n dim"]:
        with torch.autocast("cpu", torch.bfloat16, enabled=self.training):
            pooled = self.body(images[:, None]).mean(dim=(2, 3))
        return normalize(self.project(pooled.float()), dim=-1)


class Composition(nn.Module):
    """g(a, b) = W1 a + W1 b + W2 (a * b), brought back to the sphere; at first the plain mean."""

    def __init__(self, dim: int = DIM) -> None:
        super().__init__()
        self.w1 = nn.Linear(dim, dim, bias=False)
        self.w2 = nn.Linear(dim, dim, bias=False)
        nn.init.eye_(self.w1.weight)
        nn.init.zeros_(self.w2.weight)

    def forward(self, a: Float[Tensor, "*n dim"], b: Float[Tensor, "*n dim"]) -> Tensor:
        a, b = a.to(self.w1.weight.dtype), b.to(self.w1.weight.dtype)
        return normalize(self.w1(a + b) + self.w2(a * b), dim=-1)


class Embedding(nn.Module):
    """f and g, and the factor on cosines that the training's softmax has learned."""

    def __init__(self, channels: int = CHANNELS, dim: int = DIM) -> None:
        super().__init__()
        self.sizes = {"channels": channels, "dim": dim}
        self.encode = Encoder(channels, dim)
        self.compose = Composition(dim)
        self.log_scale = nn.Parameter(torch.tensor(10.0).log())

    @torch.no_grad()
    def embed(self, images: Float[Tensor, "n side side"]) -> Float[Tensor, "n dim"]:
        """Unit vectors of any number of images, without gradients."""
        return torch.cat([self.encode(block) for block in images.split(BATCH)])


def save_model(model: Embedding, path: Path) -> None:
    """Write weights and sizes."""
    torch.save({"sizes": model.sizes, "weights": model.state_dict()}, path)


def load_model(path: Path) -> Embedding:
    """Read them back, ready to embed."""
    stored = torch.load(path, weights_only=True)
    model = Embedding(**stored["sizes"])
    model.load_state_dict(stored["weights"])
    return model.eval().requires_grad_(False)
