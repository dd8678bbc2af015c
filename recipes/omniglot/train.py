"""Train f and g together on episodes of characters; goes on where it stopped, also to more steps.

python -m omniglot.train DIR WORK [--steps 12000] [--cooldown 3500] [--seed 0]
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path

import torch
from omniglot.augment import CANVAS
from omniglot.episodes import episode_loss, set_accuracy, training_episodes
from omniglot.images import Drawings, split
from omniglot.model import CHANNELS, Embedding, save_model

LEARNING_RATE = 2e-3
WARM_UP = 200
"""Steps in which the learning rate rises."""

WEIGHT_DECAY = 0.02
AVERAGE = 0.998
"""Of the running mean of the weights that is kept as the model."""

CANVASES = 180
"""About how many a step embeds."""

PHASES = ((0, 5, 32), (200, 8, 32), (2000, 10, CANVAS))
"""From which step on: classes of an episode, pixels of a canvas' side.

Easy episodes come first, on small canvases, which are faster.
"""

EVERY = 250
"""Steps between two checkpoints and reports."""


def learning_rate(step: int, steps: int, cooldown: int) -> float:
    """Constant between a rise and a fall to zero."""
    return LEARNING_RATE * min(1.0, (step + 1) / WARM_UP, (steps - step) / max(cooldown, 1))


def train(
    model: Embedding,
    drawings: Drawings,
    validation: Drawings,
    work: Path,
    *,
    steps: int,
    cooldown: int,
    seed: int,
) -> Embedding:
    """Train until `steps`, from WORK/checkpoint.pt where there is one; writes WORK/model.pt."""
    model = model.to(memory_format=torch.channels_last)
    averaged = deepcopy(model).requires_grad_(False)
    decayed = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": others, "weight_decay": 0.0}]
    )
    generator = torch.Generator().manual_seed(seed)
    checkpoint = work / "checkpoint.pt"
    done = 0
    if checkpoint.is_file():
        state = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(state["model"])
        averaged.load_state_dict(state["averaged"])
        optimizer.load_state_dict(state["optimizer"])
        generator.set_state(state["generator"])
        done = state["step"]
    losses, started = [], time.monotonic()
    for step in range(done, steps):
        classes, side = next((c, s) for first, c, s in reversed(PHASES) if step >= first)
        classes = min(classes, len(drawings) // 2)
        each = 2 * classes + math.comb(classes, 2)
        episode = training_episodes(drawings, max(1, CANVASES // each), classes, side, generator)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, steps, cooldown)
        model.train()
        loss = episode_loss(model, episode)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0, error_if_nonfinite=True)
        optimizer.step()
        _average(averaged, model, min(AVERAGE, (step + 1) / (step + 10)))
        losses.append(loss.item())
        if (step + 1) % EVERY == 0 or step + 1 == steps:
            averaged.eval()
            accuracy = set_accuracy(averaged, validation, 100, seed)
            print(
                f"step {step + 1}/{steps} classes {classes} loss {sum(losses) / len(losses):.3f} "
                f"scale {model.log_scale.exp().item():.1f} "
                f"held out: {accuracy.all:.3f} ({accuracy.single:.3f} / "
                f"{accuracy.pair:.3f}) {time.monotonic() - started:.0f} s",
                flush=True,
            )
            losses = []
            state = {
                "model": model.state_dict(),
                "averaged": averaged.state_dict(),
                "optimizer": optimizer.state_dict(),
                "generator": generator.get_state(),
                "step": step + 1,
            }
            torch.save(state, work / "checkpoint.tmp")
            os.replace(work / "checkpoint.tmp", checkpoint)
    averaged.eval()
    if done < steps or not (work / "model.pt").is_file():
        save_model(averaged, work / "model.pt")
    return averaged


@torch.no_grad()
def _average(averaged: Embedding, model: Embedding, keep: float) -> None:
    new = model.state_dict()
    for name, value in averaged.state_dict().items():
        if value.is_floating_point():
            value.lerp_(new[name], 1 - keep)
        else:
            value.copy_(new[name])


def main(arguments: Sequence[str]) -> None:
    """Train on a folder of OmniGlot."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--steps", type=int, default=12000)
    parser.add_argument("--cooldown", type=int, default=3500)
    parser.add_argument("--channels", type=int, default=CHANNELS)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    known, held_out, _ = split(given.folder)
    print(f"{len(known)} characters, {len(held_out)} held out", flush=True)
    given.work.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    train(
        Embedding(given.channels),
        known,
        held_out,
        given.work,
        steps=given.steps,
        cooldown=given.cooldown,
        seed=given.seed,
    )


if __name__ == "__main__":
    main(sys.argv[1:])
