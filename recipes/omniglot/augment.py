"""Drawings placed at random on a canvas, laid over each other, with noise behind: in batches."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

CANVAS = 40
"""Pixels of the canvas' side."""


@dataclass(frozen=True)
class Augmentation:
    """How far a drawing may be moved and bent; each amount is drawn uniformly.

    Attributes:
        smallest: least size, 1 being a drawing that fills the canvas.
        largest: greatest size.
        shift: most that the middle moves, as a part of the canvas' side.
        turn: most degrees of rotation to either side.
        shear: most slant to either side.
        stretch: most change of the ratio of width and height, as a power of e.
        noise: most spread of the Gaussian noise behind the drawing, whose ink is 1.
    """

    smallest: float = 0.6
    largest: float = 1.0
    shift: float = 0.12
    turn: float = 0.0
    shear: float = 0.0
    stretch: float = 0.0
    noise: float = 0.2


PAPER = Augmentation()
"""Of the trials, as in section 6.4: scale, shift, noise."""

TRAINING = Augmentation(
    smallest=0.55, largest=1.1, shift=0.15, turn=12.0, shear=0.15, stretch=0.15, noise=0.25
)
"""Of the training: more of everything, and what differs between writers."""


def _eye(n: int) -> Tensor:
    return torch.eye(3).expand(n, 3, 3).clone()


def _uniform(n: int, low: float, high: float, generator: torch.Generator) -> Tensor:
    return low + (high - low) * torch.rand(n, generator=generator)


def random_maps(n: int, kind: Augmentation, generator: torch.Generator) -> Float[Tensor, "n 3 3"]:
    """Maps from the canvas to the drawing, both from -1 to 1: what affine_grid asks for."""
    size = _uniform(n, kind.smallest, kind.largest, generator)
    stretch = _uniform(n, -kind.stretch, kind.stretch, generator).exp()
    angle = _uniform(n, -kind.turn, kind.turn, generator) * math.pi / 180
    slant = _uniform(n, -kind.shear, kind.shear, generator)
    middle = 2 * _uniform(2 * n, -kind.shift, kind.shift, generator).view(n, 2)
    scale, turn, shear, shift = _eye(n), _eye(n), _eye(n), _eye(n)
    scale[:, 0, 0], scale[:, 1, 1] = 1 / (size * stretch), stretch / size
    turn[:, 0, 0] = turn[:, 1, 1] = angle.cos()
    turn[:, 0, 1], turn[:, 1, 0] = -angle.sin(), angle.sin()
    shear[:, 0, 1] = slant
    shift[:, :2, 2] = -middle
    return scale @ shear @ turn @ shift


def symmetry_maps(which: Int64[Tensor, " n"]) -> Float[Tensor, "n 3 3"]:
    """Turns by `which` % 4 right angles, mirrored where `which` is 4 or more."""
    cosine = torch.tensor([1.0, 0.0, -1.0, 0.0])[which % 4]
    sine = torch.tensor([0.0, 1.0, 0.0, -1.0])[which % 4]
    maps = _eye(len(which))
    maps[:, 0, 0], maps[:, 0, 1] = cosine, -sine
    maps[:, 1, 0], maps[:, 1, 1] = sine, cosine
    maps[which >= 4, :, 0] *= -1  # the drawing's first coordinate changes its sign first
    return maps


def render(
    images: Float[Tensor, "n drawn drawn"], maps: Float[Tensor, "n 3 3"], side: int = CANVAS
) -> Float[Tensor, "n side side"]:
    """Draw every image on a canvas of its own, of `side` pixels."""
    grid = affine_grid(maps[:, :2], [len(images), 1, side, side], align_corners=False)
    return grid_sample(images[:, None], grid, align_corners=False)[:, 0]


def superpose(
    layers: Float[Tensor, "m side side"], members: Int64[Tensor, "n d"]
) -> Float[Tensor, "n side side"]:
    """Element-wise maximum of the layers of each row; -1 is no layer."""
    blank = layers.new_zeros(1, *layers.shape[1:])
    return torch.cat([layers, blank])[members].amax(dim=1)


def add_noise(
    canvases: Float[Tensor, "n side side"], kind: Augmentation, generator: torch.Generator
) -> Float[Tensor, "n side side"]:
    """Gaussian noise on the ground, of a spread drawn for each canvas; ink stays ink."""
    spread = _uniform(len(canvases), 0.0, kind.noise, generator)[:, None, None]
    noise = torch.randn(canvases.shape, generator=generator)
    return canvases + (1 - canvases) * spread * noise
