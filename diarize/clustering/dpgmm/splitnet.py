"""The Set Transformer of SplitNet (section 4.1.2, appendix F).

Equation 31 as printed pools a set to k rows, and so cannot label the set's members: the decoder's
blocks here attend back, MAB(X, MAB(seeds, X)). The layers of a stack have weights of their own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from diarize.storage.weights import first_line, models_folder, read_weights

CONFIG = "diarize.splitnet"  # key of the header under which the sizes stand
DIMENSIONS = (2, 10, 20)
"""For which there are weights (where they ship)."""


@dataclass(frozen=True)
class SplitNetConfig:
    """Sizes of the network, table 2."""

    dimension: int  # D of the rows
    hidden: int = 128  # width
    encoders: int = 2  # blocks of the encoder (ISAB)
    decoders: int = 2
    inducing: int = 64  # inducing points of an encoder's block
    seeds: int = 16  # of a decoder's block
    heads: int = 8  # of attention

    @classmethod
    def of(cls, dimension: int) -> SplitNetConfig:
        """The sizes of table 2, those of the next larger dimension where it has none."""
        if dimension <= 2:
            return cls(dimension, seeds=8, heads=4)
        if dimension <= 10:
            return cls(dimension)
        return cls(dimension, hidden=256, encoders=3, decoders=3, inducing=128)


class MultiheadAttentionBlock(nn.Module):
    """MAB(X, Y) = H + rFF(H) with H = X + attention of X to Y (28), both normalised.

    Unlike the paper's, the attention goes through no further layer: no W^O (26), no rFF in H.
    """

    def __init__(self, hidden: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.queries = nn.Linear(hidden, hidden)
        self.keys = nn.Linear(hidden, hidden)
        self.values = nn.Linear(hidden, hidden)
        self.forth = nn.Linear(hidden, hidden)
        self.after_attention = nn.LayerNorm(hidden)
        self.after_forth = nn.LayerNorm(hidden)

    def forward(self, x: Float[Tensor, "b n h"], y: Float[Tensor, "b m h"]) -> Tensor:
        """One row for each row of x."""
        q, k, v = (
            part.unflatten(2, (self.heads, -1)).transpose(1, 2)
            for part in (self.queries(x), self.keys(y), self.values(y))
        )
        seen = functional.scaled_dot_product_attention(q, k, v)
        mixed = self.after_attention(x + seen.transpose(1, 2).flatten(2))
        return self.after_forth(mixed + functional.relu(self.forth(mixed)))


class InducedAttentionBlock(nn.Module):
    """MAB(X, MAB(points, X)): the set seen through a few learned points (30)."""

    def __init__(self, hidden: int, heads: int, points: int) -> None:
        super().__init__()
        self.points = nn.Parameter(torch.empty(1, points, hidden))
        nn.init.xavier_uniform_(self.points)
        self.gather = MultiheadAttentionBlock(hidden, heads)
        self.spread = MultiheadAttentionBlock(hidden, heads)

    def forward(self, x: Float[Tensor, "b n h"]) -> Tensor:
        """One row for each row of x."""
        return self.spread(x, self.gather(self.points.expand(len(x), -1, -1), x))


class SplitNet(nn.Module):
    """Says of each row of a set in which half it belongs; which half is which means nothing."""

    def __init__(self, config: SplitNetConfig) -> None:
        super().__init__()
        self.config = config
        hidden, heads = config.hidden, config.heads
        self.enter = nn.Linear(config.dimension, hidden)
        self.encode = nn.Sequential(
            *(InducedAttentionBlock(hidden, heads, config.inducing) for _ in range(config.encoders))
        )
        self.decode = nn.Sequential(
            *(InducedAttentionBlock(hidden, heads, config.seeds) for _ in range(config.decoders))
        )
        self.leave = nn.Linear(hidden, 1)

    def forward(self, rows: Float[Tensor, "b n D"]) -> Float[Tensor, "b n"]:
        """Logits of the second half, for sets that `normalise` has passed."""
        return self.leave(self.decode(self.encode(self.enter(rows))))[:, :, 0]


def normalise(rows: Float[Tensor, "b n D"]) -> Float[Tensor, "b n D"]:
    """Each set with mean 0 and standard deviation 1 in every dimension (appendix D.1)."""
    centered = rows - rows.mean(dim=1, keepdim=True)
    spread = centered.square().mean(dim=1, keepdim=True).sqrt()
    return centered / torch.where(spread > 0, spread, 1.0)


def shipped_splitnet(dimension: int) -> Path:
    """Where the weights for D-dimensional rows ship."""
    return models_folder() / "dpgmm" / f"splitnet-{dimension}.safetensors"


@cache
def load_splitnet(path: Path) -> SplitNet:
    """Read the weights, ready for inference.

    Raises:
        ValueError: no such file, or one that is damaged or made for something else.
    """
    header, found = read_weights(path)
    if CONFIG not in header:
        raise ValueError(f"{path}: not a SplitNet (no configuration in it)")
    tensors = {name: value.float() for name, value in found.items()}
    try:
        config = SplitNetConfig(**json.loads(header[CONFIG]))
        if config.encoders + config.decoders > len(tensors):
            raise ValueError(f"{path}: a damaged weights file (it holds fewer layers than it says)")
        # A file of a few bytes may claim any sizes: nothing is allocated before tensors fit them.
        with torch.device("meta"):
            network = SplitNet(config)
        network.load_state_dict(tensors, assign=True)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"{path}: a damaged weights file ({first_line(error)})") from None
    return network.eval().requires_grad_(False)
