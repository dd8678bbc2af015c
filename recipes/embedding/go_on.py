"""Go on with one branch of f, on batches that were rendered before, as `RESULTS.md` tells.

    python recipes/embedding/go_on.py render VOICES BATCHES FILES --noise DIR... --rooms DIR
    python recipes/embedding/go_on.py train VOICES BATCHES START.safetensors OUT.safetensors STEPS

`render` writes files of 100 batches, every second file with episodes that mostly have no place in
common; several may be read again by several branches. `train` takes the files in random order, cuts
three of five batches to a part around the middle, and goes on where it stopped (`OUT.checkpoint`).
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from diarize.embedding import load_model, save_model
from diarize.mixing.acoustics import noises_of
from diarize.mixing.voices import Voices
from diarize.training.episodes import ONE_PERSON, Batch, EpisodeConfig, EpisodeMaker
from diarize.training.loop import LARGEST_SCALE, TRAINED_SCALE, LoopConfig, Trainer
from diarize.training.losses import reference_rounds, set_softmax
from diarize.training.rendering import Acoustics, training_rooms

BATCHES = 100  # in a file
USUAL = Acoustics(coded=0.12, telephone=0.7)
CUT, SHORTEST, JITTER = 0.6, 44, 6  # share of batches; frames
RATE, FASTER = 1e-3, 5.0  # and by what matrices move faster
DECAY = 0.01


class Muon(torch.optim.AdamW):
    """Matrices of groups marked `muon` move by their orthogonalised momentum (Jordan 2024)."""

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Take a step."""
        groups = self.param_groups
        for group in (g for g in groups if g.get("muon")):
            for p in group["params"]:
                momentum = self.state[p].setdefault("momentum", torch.zeros_like(p))
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
        for acoustics in (USUAL, replace(USUAL, one_place=0.35))
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
            made = torch.load(path)
            for number in rng.permutation(len(made)):
                batch = Batch(**{**made[number], "features": made[number]["features"].float()})
                frames = batch.features.shape[1]
                if rng.random() < CUT and frames > SHORTEST:
                    kept = max(SHORTEST, int(frames * rng.uniform(0.5, 1)))
                    about = (frames - kept) // 2 + int(rng.integers(-JITTER, JITTER + 1))
                    begin = min(max(about, 0), frames - kept)
                    batch = replace(batch, features=batch.features[:, begin : begin + kept])
                yield batch


class Branch(Trainer):
    """Does not ask for whom of two voices that sound like one person a window is."""

    heard: Tensor

    def losses(self, batch: Batch, vectors: Tensor) -> dict[str, Tensor]:
        """The usual loss, of the other windows."""
        scale = self.log_scale.exp().clamp(max=LARGEST_SCALE)
        cosines = self.heard[batch.voices] @ self.heard[batch.voices].mT
        twin = (cosines - torch.eye(cosines.shape[-1])).amax(dim=2) > ONE_PERSON
        sure = batch.known & ~(batch.members & twin[:, None]).any(dim=2)
        parts = []
        for rows in reference_rounds(batch.members, batch.alone, batch.known):
            asked = sure.clone()
            asked[:, rows] = False
            parts.append(
                set_softmax(
                    self.model.compose, vectors[:, rows], vectors, batch.members, scale, 3, asked
                )
            )
        return {"windows": torch.stack(parts).mean()}


def train(told: argparse.Namespace) -> None:
    """Take the steps that are left."""
    model = load_model(told.start).requires_grad_(True)
    config = LoopConfig(told.steps, RATE, warmup=200, cooldown=round(0.8 * told.steps))
    branch = Branch(model, config)
    heard = Voices.load(told.voices).heard
    assert heard is not None, "voices that nothing has heard"
    branch.heard = torch.from_numpy(heard)
    matrices = [p for name, p in model.encode.named_parameters() if _moves_faster(name)]
    others = [p for name, p in model.encode.named_parameters() if not _moves_faster(name)]
    groups = [
        {"params": [*others, branch.log_scale], "factor": 1.0},
        {"params": list(model.compose.parameters()), "factor": config.g_rate},
        {"params": matrices, "factor": FASTER, "muon": True},
    ]
    branch.optimiser = Muon(groups, lr=RATE, betas=(0.9, 0.98), weight_decay=1e-4)
    checkpoint = told.out.with_suffix(".checkpoint")
    if checkpoint.exists():
        state = torch.load(checkpoint)
        model.load_state_dict(state["model"])
        for own in state["optimiser"]["state"].values():
            own.setdefault("step", torch.tensor(0.0))  # AdamW looks for it
        branch.optimiser.load_state_dict(state["optimiser"])
        branch.step = state["step"]
    with torch.no_grad():
        branch.log_scale.fill_(state["scale"] if branch.step else math.log(TRAINED_SCALE))
    rng = np.random.default_rng([told.seed, branch.step])
    losses: list[float] = []
    for batch in batches(told.batches, rng):
        if branch.step >= told.steps:
            break
        losses.append(branch.advance(batch)["windows"])
        if branch.step % 500 == 0 or branch.step == told.steps:
            print(branch.step, f"{np.mean(losses):.4f}", flush=True)
            losses = []
            state = {"model": model.state_dict(), "optimiser": branch.optimiser.state_dict()}
            state |= {"step": branch.step, "scale": float(branch.log_scale.detach())}
            torch.save(state, checkpoint.with_suffix(".part"))
            checkpoint.with_suffix(".part").rename(checkpoint)
    save_model(branch.finished(), told.out)


def _moves_faster(name: str) -> bool:
    return "lstm.weight" in name or name == "project.weight"


def main() -> None:
    """Do what is told."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name, do in (("render", render), ("train", train)):
        command = commands.add_parser(name)
        command.set_defaults(do=do)
        command.add_argument("voices", type=Path)
        command.add_argument("batches", type=Path)
        command.add_argument("--seed", type=int, default=0)
        if name == "render":
            command.add_argument("files", type=int)
            command.add_argument("--noise", type=Path, nargs="*", default=[])
            command.add_argument("--rooms", type=Path)
        else:
            command.add_argument("start")
            command.add_argument("out", type=Path)
            command.add_argument("steps", type=int)
    told = parser.parse_args()
    torch.set_num_threads(1)
    told.do(told)


if __name__ == "__main__":
    main()
