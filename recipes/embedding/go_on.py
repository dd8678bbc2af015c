"""Go on with one branch of f, on batches that were rendered before, as `RESULTS.md` tells.

    python recipes/embedding/go_on.py render VOICES BATCHES FILES --noise DIR... --rooms DIR
    python recipes/embedding/go_on.py train BATCHES START.safetensors OUT STEPS

`render` writes files of 100 batches, every second file with episodes that mostly have no place in
common; several may be read again by several branches. `train` takes the files in random order, cuts
three of five batches to a part around the middle, and goes on where it stopped; the folder OUT gets
a checkpoint and `model.safetensors`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from diarize.embedding import CompositionalEmbedding, load_model, save_model
from diarize.mixing.acoustics import noises_of
from diarize.mixing.voices import Voices
from diarize.training.episodes import Batch, EpisodeConfig, EpisodeMaker
from diarize.training.loop import LoopConfig, Trainer
from diarize.training.rendering import Acoustics, training_rooms
from diarize.training.steps import take_steps

BATCHES = 100  # in a file
EDGES = ((50.0, 350.0), (3200.0, 3900.0))  # of telephones, Hz
USUAL = Acoustics(coded=0.25, telephone=0.7, edges=EDGES)
APART = replace(USUAL, one_place=0.35)  # of every second batch
CUT, SHORTEST, JITTER = 0.6, 44, 6  # share of batches; frames
RATE, FASTER = 1e-3, 5.0  # and by what matrices move faster
DECAY = 0.01

SomeTrainer = TypeVar("SomeTrainer", bound=Trainer)


class Muon(torch.optim.AdamW):
    """Matrices of groups marked `muon` move by their orthogonalised momentum (Jordan 2024)."""

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Take a step."""
        groups = self.param_groups
        for group in (g for g in groups if g.get("muon")):
            for p in group["params"]:
                state = self.state[p]
                if not state:  # AdamW looks for a step when its state is loaded
                    state |= {"momentum": torch.zeros_like(p), "step": torch.tensor(0.0)}
                momentum = state["momentum"]
                momentum.mul_(0.95).add_(p.grad)
                gates = len(p) // 4 if len(p) % 1024 == 0 else len(p)  # of an LSTM, each by itself
                update = orthogonal((p.grad + 0.95 * momentum).unflatten(0, (-1, gates)))
                update *= max(1.0, gates / p.shape[1]) ** 0.5
                p.mul_(1 - DECAY * group["lr"]).add_(update.flatten(0, 1), alpha=-group["lr"])
        self.param_groups = [g for g in groups if not g.get("muon")]
        super().step()
        self.param_groups = groups


def orthogonal(matrices: Tensor) -> Tensor:
    """Bring all singular values near one: five Newton-Schulz iterations."""
    x = matrices.bfloat16()
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    for _ in range(5):
        square = x @ x.mT
        x = 3.4445 * x + (2.0315 * square @ square - 4.7750 * square) @ x
    return (x.mT if tall else x).float()


def render(told: argparse.Namespace) -> None:
    """Write the files that are not there."""
    told.batches.mkdir(parents=True, exist_ok=True)
    rooms, noises = training_rooms(told.rooms, told.seed), noises_of(told.noise)
    makers = [
        EpisodeMaker(
            Voices.load(told.voices), noises, EpisodeConfig(acoustics=acoustics), told.seed, rooms
        )
        for acoustics in (USUAL, APART)
    ]
    for number in range(told.files):
        path = told.batches / f"{number:04d}.pt"
        if not path.exists():
            steps = range(number * BATCHES, (number + 1) * BATCHES)
            made = [vars(makers[number % 2][step]) for step in steps]
            for batch in made:
                batch["features"] = batch["features"].half()
            torch.save(made, path.with_suffix(".part"))
            path.with_suffix(".part").rename(path)


def batches(folder: Path, rng: np.random.Generator) -> Iterator[Batch]:
    """All batches again and again, in an order of their own each time."""
    while True:
        for path in rng.permutation(sorted(folder.glob("*.pt"))).tolist():
            made = torch.load(path, weights_only=True)
            for number in rng.permutation(len(made)):
                features = made[number]["features"].float()
                yield cropped(Batch(**{**made[number], "features": features}), rng)


def cropped(batch: Batch, rng: np.random.Generator) -> Batch:
    """Cut some batches to a part around the middle."""
    frames = batch.features.shape[1]
    if rng.random() >= CUT or frames <= SHORTEST:
        return batch
    kept = max(SHORTEST, int(frames * rng.uniform(0.5, 1)))
    about = (frames - kept) // 2 + int(rng.integers(-JITTER, JITTER + 1))
    begin = min(max(about, 0), frames - kept)
    return replace(batch, features=batch.features[:, begin : begin + kept])


def going_on(
    kind: type[SomeTrainer], start: CompositionalEmbedding, config: LoopConfig, device: str = "cpu"
) -> SomeTrainer:
    """A trainer of this kind that begins with these weights; Muon moves the matrices."""
    trainer = kind(CompositionalEmbedding(start.config), config, device)
    trainer.begin_with(start)
    named = list(trainer.model.encode.named_parameters())
    others = [p for name, p in named if not _moves_faster(name)]
    groups = [
        {"params": [*others, trainer.log_scale], "factor": 1.0},
        {"params": list(trainer.model.compose.parameters()), "factor": trainer.config.g_rate},
        {"params": [p for name, p in named if _moves_faster(name)], "factor": FASTER, "muon": True},
    ]
    trainer.optimiser = Muon(groups, lr=RATE, betas=(0.9, 0.98), weight_decay=1e-4)
    return trainer


def train(told: argparse.Namespace) -> None:
    """Take the steps that are left."""
    cooldown = round(0.8 * told.steps)
    config = LoopConfig(told.steps, RATE, warmup=200, cooldown=cooldown, every=500)
    trainer = going_on(Trainer, load_model(told.start), config)
    told.out.mkdir(parents=True, exist_ok=True)
    checkpoint = told.out / "checkpoint.safetensors"
    if checkpoint.exists():
        trainer.load(checkpoint)
    left = range(trainer.step, told.steps)
    rng = np.random.default_rng([told.seed, trainer.step])
    take_steps(
        trainer,
        zip(left, batches(told.batches, rng), strict=False),
        trainer.advance,
        dict,  # nothing is judged: the last weights are kept
        told.out,
        last=told.steps,
        report=lambda step, parts, *_: print(step, f"{parts['windows']:.4f}", flush=True),
    )
    save_model(trainer.finished(), told.out / "model.safetensors")


def _moves_faster(name: str) -> bool:
    return "lstm.weight" in name or name == "project.weight"


def main() -> None:
    """Do what is told."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    rendering = commands.add_parser("render")
    rendering.set_defaults(do=render)
    rendering.add_argument("voices", type=Path)
    rendering.add_argument("batches", type=Path)
    rendering.add_argument("files", type=int)
    rendering.add_argument("--noise", type=Path, nargs="*", default=[])
    rendering.add_argument("--rooms", type=Path)
    training = commands.add_parser("train")
    training.set_defaults(do=train)
    training.add_argument("batches", type=Path)
    training.add_argument("start")
    training.add_argument("out", type=Path)
    training.add_argument("steps", type=int)
    for command in (rendering, training):
        command.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    torch.set_num_threads(1)
    told.do(told)


if __name__ == "__main__":
    main()
