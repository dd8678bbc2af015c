"""What is fitted to a network's vectors: the map that puts them in their place, and g."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from torch import Tensor, nn
from torch.nn.functional import normalize

from diarize.embedding.fitted import Place
from diarize.embedding.model import Composition
from diarize.progress import Hook
from diarize.training.development import SetAccuracy, judge
from diarize.training.losses import episode_loss

SHRINKAGE = 1.0  # of the covariance within voices towards a sphere
SCALE = 30.0  # of the cosines inside the softmax, at first
LARGEST_SCALE = 60.0
G_RATE = 3.0  # factor on the learning rate of g, whose second term sees products of small numbers

Report = Callable[[int, float, Mapping[str, SetAccuracy]], None]


class Seen(NamedTuple):
    """A batch of training windows, as the network's own unit vectors."""

    vectors: Float32[Tensor, "episodes windows p"]
    members: Bool[Tensor, "episodes windows speakers"]
    alone: Bool[Tensor, "episodes windows"]
    known: Bool[Tensor, "episodes windows"]
    voices: Tensor  # (episodes, speakers)
    seconds: float  # of each window


class MappedComposition(nn.Module):
    """What is fitted: the map, g, and the factor on the cosines."""

    def __init__(self, place: Place) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.from_numpy(place.mean))
        self.matrix = nn.Parameter(torch.from_numpy(place.matrix))
        self.compose = Composition(place.matrix.shape[1])
        self.log_scale = nn.Parameter(torch.tensor(float(np.log(SCALE))))

    def forward(self, vectors: Float[Tensor, "*batch p"]) -> Float[Tensor, "*batch q"]:
        """Put vectors in their place."""
        return normalize((vectors - self.mean) @ self.matrix, dim=-1)

    def place(self) -> Place:
        """The map."""
        return Place(self.mean.detach().numpy().copy(), self.matrix.detach().numpy().copy())


def whitened(seen: Sequence[Seen]) -> Place:
    """The map with which a fit begins: no mean, and voices scatter alike in all directions.

    Within-class covariance normalisation (Hatch, Kajarekar, Stolcke 2006).
    """
    rows, owner = _singles(seen)
    mean = rows.mean(axis=0)
    centroids = np.stack([rows[owner == v].mean(axis=0) for v in np.unique(owner)])
    within = np.cov((rows - centroids[np.unique(owner, return_inverse=True)[1]]).T)
    dim = len(within)
    shrunk = within + SHRINKAGE * np.trace(within) / dim * np.eye(dim)
    matrix = np.linalg.cholesky(np.linalg.inv(shrunk))
    spread = np.linalg.norm((rows - mean) @ matrix, axis=1).mean()
    return Place(mean.astype(np.float32), (matrix / spread).astype(np.float32))


def _singles(seen: Sequence[Seen]) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of windows of one voice, and which voice that is."""
    rows, owner = [], []
    for one in seen:
        whose = (one.members.long() * one.voices[:, None]).sum(dim=-1)  # (episodes, windows)
        rows.append(one.vectors[one.alone].numpy())
        owner.append(whose[one.alone].numpy())
    return np.concatenate(rows).astype(np.float64), np.concatenate(owner)


def train(
    fit: MappedComposition,
    seen: Sequence[Seen],
    development: Mapping[str, tuple[Tensor, Tensor]],
    *,
    passes: int,
    rate: float,
    max_set_size: int,
    seed: int,
    hook: Hook | None = None,
    report: Report | None = None,
) -> None:
    """Fit the map and g; of all passes, the best by the development's set accuracy is kept.

    The rest as in `CompositionRecipe`; `hook` and `report` are told of each pass.
    """
    groups: list[dict[str, Any]] = [
        {"params": [fit.mean, fit.matrix]},
        {"params": [*fit.compose.parameters(), fit.log_scale], "lr": G_RATE * rate},
    ]
    optimiser = torch.optim.AdamW(groups, lr=rate, weight_decay=1e-4)
    steps = passes * len(seen)
    falling = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 - step / max(1, steps))
    rng = np.random.default_rng([seed, 5])
    best = (-1.0, fit.state_dict())
    for done in range(passes):
        total = 0.0
        for number in rng.permutation(len(seen)).tolist():
            one = seen[number]
            scale = fit.log_scale.exp().clamp(max=LARGEST_SCALE)
            loss = episode_loss(
                fit.compose, fit(one.vectors), one.members, one.alone, scale,
                max_set_size, one.known,
            )  # fmt: skip
            optimiser.zero_grad(set_to_none=True)
            torch.autograd.backward(loss)
            optimiser.step()
            falling.step()
            total += float(loss.detach())
        accuracy = accuracy_of(fit, development)
        if accuracy:
            mean = sum(one.all for one in accuracy.values()) / len(accuracy)
            if mean >= best[0]:
                best = mean, {k: v.detach().clone() for k, v in fit.state_dict().items()}
        if hook:
            hook("fitting", done + 1, passes)
        if report:
            report(done + 1, total / len(seen), accuracy)
    if development:
        fit.load_state_dict(best[1])


def accuracy_of(
    fit: MappedComposition, development: Mapping[str, tuple[Tensor, Tensor]]
) -> dict[str, SetAccuracy]:
    """Set accuracy on speakers that nothing was fitted to."""
    with torch.inference_mode():
        return {
            name: judge(fit(references), fit(queries), fit.compose)
            for name, (references, queries) in development.items()
        }
