"""Train the network that hears how many speak: replayed talk, steps, averaged weights, report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from diarize.activity.counter import MOST, CounterConfig, VoiceCounter
from diarize.activity.network import hints_of
from diarize.training.checkpoints import read_checkpoint, restore, save_checkpoint
from diarize.training.chunks import LOWEST, NATS, Shard

PATIENCE = 3600.0  # seconds to wait for a shard


@dataclass(frozen=True)
class CounterLoop:
    """How long and how fast.

    Attributes:
        steps: steps in all.
        batch: chunks in one step.
        rate: learning rate after `warmup` steps; from there it falls to zero along a cosine.
        warmup: steps in which the rate rises.
        first: shards that must be there before the first step.
        reuse: how often a chunk is seen, on average.
        average: decay of the averaged weights.
        unhinted: share of chunks for which silero-vad says nothing.
        every: steps between two checkpoints.
        clip: largest norm of the gradient.
    """

    steps: int = 4500
    batch: int = 32
    rate: float = 2e-3
    warmup: int = 200
    first: int = 10
    reuse: float = 16.0
    average: float = 0.998
    unhinted: float = 0.1
    every: int = 100
    clip: float = 1.0


class ShardFolder:
    """The shards of a folder, read when they are there."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count
        self._shards: dict[int, Shard] = {}

    def path(self, number: int) -> Path:
        return self.folder / f"shard_{number:04d}.npz"

    def __getitem__(self, number: int) -> Shard:
        if number not in self._shards:
            begun = time.monotonic()
            while not self.path(number).is_file():
                if time.monotonic() - begun > PATIENCE:
                    raise TimeoutError(f"{self.path(number)}: not rendered")
                time.sleep(1.0)
            self._shards[number] = Shard.load(self.path(number))
        return self._shards[number]


@dataclass(frozen=True)
class Batch:
    """Chunks as tensors: mel (b, frames, 64), hints (b, steps, 2), voices (b, answers)."""

    mel: Tensor
    hints: Tensor
    voices: Tensor


def as_batch(
    mel: np.ndarray, speech: np.ndarray, voices: np.ndarray, config: CounterConfig
) -> Batch:
    """Make tensors of bytes."""
    features = torch.from_numpy(mel).float().mul_(NATS).add_(LOWEST)
    steps = mel.shape[1] // config.stack
    hints = torch.from_numpy(hints_of(speech.astype(np.float32) / 255, 0, steps))
    each = config.stack // config.answers
    truth = torch.from_numpy(np.minimum(voices[:, ::each], MOST).astype(np.int64))
    return Batch(features[:, : steps * config.stack], hints, truth[:, : steps * config.answers])


def draw_batch(
    shards: ShardFolder, step: int, loop: CounterLoop, config: CounterConfig, seed: int
) -> Batch:
    """The batch of a step, which depends on the seed and the step alone."""
    from diarize.training.chunks import PER_SHARD

    rng = np.random.default_rng([seed, 5, step])
    there = min(shards.count, loop.first + int(step * loop.batch / loop.reuse / PER_SHARD))
    chosen = rng.integers(there, size=loop.batch)
    rows = rng.integers(PER_SHARD, size=loop.batch)
    parts = [(shards[int(s)], int(r)) for s, r in zip(chosen, rows, strict=True)]
    batch = as_batch(
        np.stack([s.mel[r] for s, r in parts]),
        np.stack([s.speech[r] for s, r in parts]),
        np.stack([s.voices[r] for s, r in parts]),
        config,
    )
    b, bands = loop.batch, config.bands
    place = np.linspace(-1, 1, bands)
    knots = np.linspace(-1, 1, 6)
    tint = rng.normal(0, 0.5, (b, 1)) + rng.normal(0, 0.5, (b, 1)) * place
    tint = tint + np.stack([np.interp(place, knots, rng.normal(0, 0.4, 6)) for _ in range(b)])
    batch.mel.add_(torch.from_numpy(tint[:, None].astype(np.float32)))
    batch.hints[torch.from_numpy(rng.random(b) < loop.unhinted)] = 0.0
    return batch


class CounterTrainer:
    """The network, its averaged twin and the optimiser."""

    def __init__(self, config: CounterConfig, loop: CounterLoop, device: str = "cpu") -> None:
        self.loop, self.device = loop, device
        self.model = VoiceCounter(config).to(device)
        self.averaged = VoiceCounter(config).to(device).requires_grad_(False)
        self.averaged.load_state_dict(self.model.state_dict())
        self.optimiser = torch.optim.AdamW(
            self.model.parameters(), lr=loop.rate, betas=(0.9, 0.98), weight_decay=1e-4
        )
        self.step = 0

    def look_at(self, mel: Tensor) -> None:
        """Take mean and deviation of the bands from some chunks."""
        for model in (self.model, self.averaged):
            model.mean.copy_(mel.mean(dim=(0, 1)))
            model.deviation.copy_(mel.std(dim=(0, 1)))

    def rate(self) -> float:
        loop = self.loop
        up = min(1.0, (self.step + 1) / loop.warmup)
        done = min(1.0, self.step / loop.steps)
        return float(loop.rate * up * (0.5 + 0.5 * np.cos(np.pi * done)))

    def advance(self, batch: Batch) -> float:
        """Take one step; returns the loss."""
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate()
        self.model.train()
        logits = self.model(batch.mel.to(self.device), batch.hints.to(self.device))
        loss = functional.cross_entropy(
            logits.flatten(0, 1), batch.voices.to(self.device).flatten()
        )
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.loop.clip)
        self.optimiser.step()
        self.step += 1
        decay = min(self.loop.average, (self.step + 1) / (self.step + 10))
        with torch.no_grad():
            for mean, value in zip(
                self.averaged.parameters(), self.model.parameters(), strict=True
            ):
                mean.lerp_(value, 1 - decay)
        return float(loss.detach())

    def save(self, path: Path) -> None:
        further = {f"averaged.{k}": v for k, v in self.averaged.state_dict().items()}
        about = {"step": str(self.step), "config": json.dumps(asdict(self.model.config))}
        save_checkpoint(path, self.model, self.optimiser, about, further)

    def load(self, path: Path) -> None:
        tensors, about = read_checkpoint(path, self.device)
        restore(tensors, self.model, self.optimiser)
        own = {
            k.removeprefix("averaged."): v for k, v in tensors.items() if k.startswith("averaged.")
        }
        self.averaged.load_state_dict(own)
        self.step = int(about["step"])


@torch.inference_mode()
def judge(model: VoiceCounter, shard: Shard, rows: int = 16) -> dict[str, float]:
    """Cross entropy; miss and false alarm of speech at 0.5; average precision of overlap."""
    from sklearn.metrics import average_precision_score

    model.eval()
    losses, answers, truths = [], [], []
    device = next(model.parameters()).device
    for i in range(0, len(shard.mel), rows):
        batch = as_batch(
            shard.mel[i : i + rows],
            shard.speech[i : i + rows],
            shard.voices[i : i + rows],
            model.config,
        )
        logits = model(batch.mel.to(device), batch.hints.to(device)).cpu()
        losses.append(float(functional.cross_entropy(logits.flatten(0, 1), batch.voices.flatten())))
        answers.append(logits.softmax(-1).flatten(0, 1))
        truths.append(batch.voices.flatten())
    p, truth = torch.cat(answers).numpy(), torch.cat(truths).numpy()
    speech, heard = truth > 0, p[:, 0] < 0.5
    n = speech.sum()
    two, found = truth > 1, p[:, 2:].sum(1) > 0.5
    return {
        "loss": float(np.mean(losses)),
        "miss": float((speech & ~heard).sum() / n),
        "false": float((heard & ~speech).sum() / n),
        "precision": float((two & found).sum() / max(1, found.sum())),
        "recall": float((two & found).sum() / max(1, two.sum())),
        "ap": float(average_precision_score(two, p[:, 2:].sum(1))),
    }


def train_counter(
    trainer: CounterTrainer,
    shards: ShardFolder,
    folder: Path,
    development: Shard | None,
    seed: int = 0,
    until: int | None = None,
    report: Callable[[int, float, dict[str, float]], None] | None = None,
) -> None:
    """Run steps, writing `folder/checkpoint.safetensors` now and then."""
    loop = trainer.loop
    last = loop.steps if until is None else min(loop.steps, until)
    total, since = 0.0, trainer.step
    while trainer.step < last:
        batch = draw_batch(shards, trainer.step, loop, trainer.model.config, seed)
        total += trainer.advance(batch)
        if trainer.step % loop.every == 0 or trainer.step == last:
            trainer.save(folder / "checkpoint.safetensors")
            if report is not None:
                figures = judge(trainer.averaged, development) if development else {}
                report(trainer.step, total / (trainer.step - since), figures)
            total, since = 0.0, trainer.step
