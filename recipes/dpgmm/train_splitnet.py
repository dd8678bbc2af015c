"""Train SplitNet on sets drawn on the spot, from easy to hard; and measure how well it splits.

    python train_splitnet.py --dim D --out DIR [--steps N] [--batch N] [--rate R] [--every N]
                             [--until N] [--start FILE] [--seed N]

Run it again after an interruption and it goes on as if there had been none. `card.py` ships the
weights.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32
from splits import draw_sets
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from diarize.clustering.dpgmm.splitnet import (
    CONFIG,
    SplitNet,
    SplitNetConfig,
    load_splitnet,
    normalise,
)
from diarize.errors import InputError
from diarize.storage.files import write_weights
from diarize.storage.weights import read_weights
from diarize.training.checkpoints import restore, save_checkpoint
from diarize.training.gradients import clip, keeping

LEVELS = {"easy": 0.0, "medium": 0.5, "hard": 1.0}
"""Difficulties of the test sets."""

TEST_SETS, TEST_ROWS = 300, 256
"""How many there are of each, and how many rows they have."""

WARM_UP = 100
"""Steps in which the rate rises linearly from zero."""

STAGES = 10
"""How often the curriculum grows harder: 200 epochs in steps of 20, and so on (table 2)."""

GROWING = 0.4
"""Share of the steps in which it does. The paper's grows to the end, at one learning rate; where
the rate falls, what comes last is hardly learned."""

CLIP = 1.0
"""Largest norm of the gradient."""

Hook = Callable[[str, float, float], None]
Report = Callable[[int, float, dict[str, float]], None]


@dataclass(frozen=True, kw_only=True)
class SplitRecipe:
    """All that a training is made of.

    Attributes:
        dimension: D.
        steps: steps in all.
        batch: sets in a step.
        rows: least and most rows of a set; those of a step have equally many.
        rate: largest learning rate; it falls to zero as half a cosine.
        every: steps between two checkpoints.
        seed: of weights and sets.
        start: weights to begin with, for which nothing is too hard; None: drawn ones.
    """

    dimension: int
    steps: int = 4_000
    batch: int = 32
    rows: tuple[int, int] = (32, 256)
    rate: float = 1e-3
    every: int = 100
    seed: int = 0
    start: Path | None = None

    def batch_of(self, step: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows and halves of a step; the same at each call."""
        generator = np.random.default_rng((self.seed, step))
        n = int(generator.integers(self.rows[0], self.rows[1] + 1))
        # The hardest sets so far, and all easier ones beside them.
        stage = STAGES - 1
        if self.start is None:
            stage = min(stage, int(STAGES * step / (GROWING * self.steps)))
        levels = generator.integers(0, stage + 1, self.batch) / (STAGES - 1)
        rows, halves = draw_sets(generator, self.dimension, levels, n)
        return normalise(torch.from_numpy(rows)), torch.from_numpy(halves).float()

    def rate_at(self, step: int) -> float:
        """The learning rate."""
        up = min(1.0, (step + 1) / WARM_UP)
        return self.rate * up * (1 + math.cos(math.pi * step / self.steps)) / 2


def train_splitnet(
    recipe: SplitRecipe,
    folder: Path,
    *,
    until: int | None = None,
    hook: Hook | None = None,
    report: Report | None = None,
) -> Path:
    """Train, or go on from `folder/checkpoint.safetensors`.

    Args:
        recipe: what to train.
        folder: the checkpoint and the finished `splitnet.safetensors` go here; made when missing.
        until: stop before this step, as if interrupted; the weights so far are written.
        hook: progress, in steps.
        report: called at every checkpoint with the step, the mean loss since the last, and the
            split accuracy on the test sets.

    Returns:
        The path of the weights.

    Raises:
        InputError: the folder holds a training by another recipe, or a damaged checkpoint; the
            weights to begin with are no network for these dimensions.
        TrainingError: a gradient that is not finite; its batch is kept in the folder.
    """
    torch.manual_seed(recipe.seed)
    network = _begin(recipe)
    optimiser = torch.optim.Adam(network.parameters(), lr=recipe.rate)
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "checkpoint.safetensors"
    step = _load(checkpoint, recipe, network, optimiser) if checkpoint.is_file() else 0
    last = recipe.steps if until is None else min(recipe.steps, until)
    tests = drawn_tests(recipe.dimension)
    total, count = 0.0, 0
    while step < last:
        rows, halves = recipe.batch_of(step)
        with keeping(folder / f"broken-{step}.safetensors", step, {"rows": rows, "halves": halves}):
            total += _advance(network, optimiser, recipe.rate_at(step), rows, halves)
        count += 1
        step += 1
        if hook:
            hook("training", step, recipe.steps)
        if step % recipe.every == 0 or step == last:
            about = {"step": str(step), "recipe": _text(recipe)}
            save_checkpoint(checkpoint, network, optimiser, about)
            if report:
                report(step, total / count, split_accuracy(network_splitter(network), tests))
            total, count = 0.0, 0
    weights = folder / "splitnet.safetensors"
    save_splitnet(network, weights)
    return weights


def save_splitnet(network: SplitNet, path: Path) -> None:
    """Write the weights, in float16."""
    tensors = {name: value.half() for name, value in network.state_dict().items()}
    write_weights(path, tensors, {CONFIG: json.dumps(asdict(network.config))})


def swap_invariant_loss(
    logits: Float[Tensor, "b n"], halves: Float[Tensor, "b n"]
) -> Float[Tensor, " b"]:
    """Cross-entropy of each set under the better of the two namings of its halves (9)."""
    as_named = binary_cross_entropy_with_logits(logits, halves, reduction="none")
    swapped = binary_cross_entropy_with_logits(logits, 1 - halves, reduction="none")
    return torch.minimum(as_named.mean(dim=1), swapped.mean(dim=1))


def _begin(recipe: SplitRecipe) -> SplitNet:
    if recipe.start is None:
        return SplitNet(SplitNetConfig.of(recipe.dimension))
    network = deepcopy(load_splitnet(recipe.start)).requires_grad_(True)  # others share it
    if network.config.dimension != recipe.dimension:
        raise InputError(
            f"{recipe.start}: a network for {network.config.dimension} dimensions, not for "
            f"{recipe.dimension}"
        )
    return network


def _advance(
    network: SplitNet,
    optimiser: torch.optim.Optimizer,
    rate: float,
    rows: torch.Tensor,
    halves: torch.Tensor,
) -> float:
    for group in optimiser.param_groups:
        group["lr"] = rate
    network.train()
    with torch.autocast("cpu", torch.bfloat16):
        logits = network(rows)
    loss = swap_invariant_loss(logits.float(), halves).mean()
    optimiser.zero_grad(set_to_none=True)
    torch.autograd.backward(loss)
    clip(network.named_parameters(), CLIP)
    optimiser.step()
    return float(loss.detach())


def _load(
    path: Path, recipe: SplitRecipe, network: SplitNet, optimiser: torch.optim.Optimizer
) -> int:
    about, tensors = read_weights(path, "checkpoint")
    if about.get("recipe") != _text(recipe):
        raise InputError(f"{path.parent}: holds a training by another recipe")
    restore(tensors, network, optimiser)
    return int(about["step"])


def _text(recipe: SplitRecipe) -> str:
    return json.dumps(asdict(recipe) | {"every": 0}, sort_keys=True, default=str)


Sets = tuple[Float32[np.ndarray, "b n D"], Bool[np.ndarray, "b n"]]
Splitter = Callable[[Float32[np.ndarray, "b n D"]], Bool[np.ndarray, "b n"]]


def drawn_tests(dimension: int, count: int | None = None) -> dict[str, Sets]:
    """Easy, medium and hard sets, always the same; `count` None: `TEST_SETS` of each."""
    sets = {}
    for index, (name, level) in enumerate(LEVELS.items()):
        generator = np.random.default_rng((dimension, index, 2022))
        sets[name] = draw_sets(generator, dimension, np.full(count or TEST_SETS, level), TEST_ROWS)
    return sets


def split_accuracy(split: Splitter, tests: dict[str, Sets]) -> dict[str, float]:
    """Share of rows in the right half, under the better naming; mean over the sets."""
    accuracy = {}
    for name, (rows, halves) in tests.items():
        right = (split(rows) == halves).mean(axis=1)
        accuracy[name] = float(np.maximum(right, 1 - right).mean())
    return accuracy


def network_splitter(network: SplitNet) -> Splitter:
    """Split as a network does."""

    def split(rows: Float32[np.ndarray, "b n D"]) -> Bool[np.ndarray, "b n"]:
        network.eval()
        with torch.inference_mode():
            sets = torch.from_numpy(rows)
            parts = [network(normalise(sets[i : i + 32])) > 0 for i in range(0, len(sets), 32)]
        return torch.cat(parts).numpy()

    return split


def two_means(rows: Float32[np.ndarray, "b n D"]) -> Bool[np.ndarray, "b n"]:
    """Split each set by 2-means, the best of ten starts."""
    from sklearn.cluster import KMeans

    def labels(x: np.ndarray) -> Any:
        return KMeans(2, n_init=10, random_state=0).fit(x).labels_

    return np.stack([labels(x) for x in rows]).astype(bool)


def main() -> None:
    """Read the options and train, a line for each checkpoint."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dim", type=int, required=True, help="dimensions of the rows")
    parser.add_argument("--out", type=Path, required=True, help="checkpoint and weights go here")
    parser.add_argument("--steps", type=int, default=4_000)
    parser.add_argument("--batch", type=int, default=32, help="sets in a step")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--every", type=int, default=100, help="steps between two checkpoints")
    parser.add_argument("--until", type=int, help="stop before this step, to go on later")
    parser.add_argument("--start", type=Path, help="weights to begin with, and the hardest sets")
    parser.add_argument("--seed", type=int, default=0)
    options = vars(parser.parse_args())
    out, until = options.pop("out"), options.pop("until")
    recipe = SplitRecipe(dimension=options.pop("dim"), **options)

    def report(step: int, loss: float, accuracy: dict[str, float]) -> None:
        parts = ", ".join(f"{name} {value:.3f}" for name, value in accuracy.items())
        print(f"step {step}: loss {loss:.3f}; split accuracy {parts}", flush=True)

    print(train_splitnet(recipe, out, until=until, report=report))


if __name__ == "__main__":
    main()
