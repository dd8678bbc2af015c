"""The training loop of the network that hears how many speak: batches, steps, averaged weights."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from diarize.activity.counter import MOST, CounterConfig, VoiceCounter
from diarize.activity.inference import silero_hints
from diarize.activity.spectra import places
from diarize.training.chunks import LOWEST, NATS, UNKNOWN, Shard, Shards
from diarize.training.gradients import clip
from diarize.training.steps import Learner

ROWS = 16  # chunks that are judged at a time


@dataclass(frozen=True)
class CounterLoop:
    """How long and how fast.

    Attributes:
        steps: steps in all.
        batch: chunks in one step.
        rate: learning rate after `warmup` steps; from there it falls to zero along a cosine.
        warmup: steps in which the rate rises.
        seconds: of a chunk.
        chunks: in a shard.
        first: shards that must be there before the first step.
        reuse: how often a chunk is seen, on average.
        average: decay of the averaged weights.
        unhinted: share of chunks for which silero-vad says nothing.
        every: steps between two checkpoints.
        music: chunks of music, and as many of talk, from which is learned what is a voice.
        clip: largest norm of the gradient.
    """

    steps: int = 4500
    batch: int = 32
    rate: float = 2e-3
    warmup: int = 200
    seconds: float = 16.0
    chunks: int = 128
    first: int = 10
    reuse: float = 16.0
    average: float = 0.998
    unhinted: float = 0.1
    every: int = 100
    music: int = 640
    clip: float = 1.0

    def shards_at(self, step: int) -> int:
        """How many shards a step draws from."""
        return self.first + int(step * self.batch / self.reuse / self.chunks)

    def rate_at(self, step: int) -> float:
        """The learning rate."""
        up = min(1.0, (step + 1) / self.warmup)
        done = min(1.0, step / self.steps)
        return float(self.rate * up * (0.5 + 0.5 * np.cos(np.pi * done)))


@dataclass(frozen=True)
class Batch:
    """Chunks as tensors.

    Attributes:
        spectra: (b, instants, 256).
        hints: of silero-vad, (b, steps, 2).
        wanted: how probable each number of voices is, (b, instants, 4): the truth, what the teacher
            says, or the mean of both.
    """

    spectra: Tensor
    hints: Tensor
    wanted: Tensor


def as_batch(shard: Shard, config: CounterConfig) -> Batch:
    """Make tensors of bytes."""
    features = torch.from_numpy(shard.spectra.astype(np.float32)).mul_(NATS).add_(LOWEST)
    steps = shard.spectra.shape[1] // config.stack
    hints = torch.from_numpy(silero_hints(shard.speech.astype(np.float32) / 255, 0, steps))
    told = shard.told.astype(np.float32)
    total = told.sum(axis=2, keepdims=True)
    told = np.divide(told, total, out=np.zeros_like(told), where=total > 0)
    truth = np.eye(MOST + 1, dtype=np.float32)[np.minimum(shard.voices, MOST)]
    truth[shard.voices == UNKNOWN] = 0.0
    wanted = torch.from_numpy(truth + told)
    wanted /= wanted.sum(dim=2, keepdim=True).clamp(min=1e-6)
    n = steps * config.stack
    return Batch(features[:, :n], hints, wanted[:, :n])


def draw_batch(
    shards: Shards | Sequence[Shard],
    step: int,
    loop: CounterLoop,
    config: CounterConfig,
    seed: int,
) -> Batch:
    """The batch of a step, which depends on the seed and the step alone."""
    rng = np.random.default_rng([seed, 5, step])
    b = loop.batch
    chosen = rng.integers(loop.shards_at(step), size=b)
    rows = rng.integers(loop.chunks, size=b)
    parts = [(shards[int(s)], int(r)) for s, r in zip(chosen, rows, strict=True)]
    names = vars(parts[0][0])
    drawn = Shard(*(np.stack([getattr(s, name)[r] for s, r in parts]) for name in names))
    batch = as_batch(drawn, config)
    # Another microphone for each chunk: a slope and a smooth curve over the bands.
    place = places()
    knots = np.linspace(-1, 1, 6)
    tint = rng.normal(0, 0.5, (b, 1)) + rng.normal(0, 0.5, (b, 1)) * place
    tint = tint + np.stack([np.interp(place, knots, rng.normal(0, 0.4, 6)) for _ in range(b)])
    batch.spectra.add_(torch.from_numpy(tint[:, None].astype(np.float32)))
    batch.hints[torch.from_numpy(rng.random(b) < loop.unhinted)] = 0.0
    return batch


class CounterTrainer(Learner):
    """The network, its averaged twin and the optimiser, moved along one step at a time."""

    figure, sign = "loss", -1

    def __init__(self, model: VoiceCounter, loop: CounterLoop, device: str = "cpu") -> None:
        model = model.to(device)
        self.averaged = deepcopy(model).requires_grad_(False)
        beside = nn.ModuleDict({"averaged": self.averaged})
        super().__init__(model, model.parameters(), loop, device, beside, self.averaged)

    def look_at(self, spectra: Tensor) -> None:
        """Take mean and deviation of the bands from some chunks."""
        for model in (self.model, self.averaged):
            model.mean.copy_(spectra.mean(dim=(0, 1)))
            model.deviation.copy_(spectra.std(dim=(0, 1)))

    def advance(self, batch: Batch) -> dict[str, float]:
        """Take one step; returns the loss, by that name.

        Raises:
            TrainingError: the gradient is not finite; the weights are as they were.
        """
        for group in self.optimiser.param_groups:
            group["lr"] = self.config.rate_at(self.step)
        self.model.train()
        logits = self.model(batch.spectra.to(self.device), batch.hints.to(self.device))
        wanted = batch.wanted.to(self.device).flatten(0, 1)
        loss = functional.cross_entropy(logits.flatten(0, 1), wanted)
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        clip(self.model.named_parameters(), self.config.clip)
        self.optimiser.step()
        self.step += 1
        decay = min(self.config.average, (self.step + 1) / (self.step + 10))
        with torch.no_grad():
            for mean, value in zip(
                self.averaged.parameters(), self.model.parameters(), strict=True
            ):
                mean.lerp_(value, 1 - decay)
        return {"loss": float(loss.detach())}


@torch.inference_mode()
def judge(model: VoiceCounter, shard: Shard) -> dict[str, float]:
    """Cross entropy; miss and false alarm of speech at 0.5; average precision of overlap."""
    from sklearn.metrics import average_precision_score

    model.eval()
    losses, answers, truths = [], [], []
    device = next(model.parameters()).device
    for i in range(0, len(shard.spectra), ROWS):
        batch = as_batch(shard[i : i + ROWS], model.config)
        logits = model(batch.spectra.to(device), batch.hints.to(device)).cpu()
        wanted = batch.wanted.flatten(0, 1)
        losses.append(float(functional.cross_entropy(logits.flatten(0, 1), wanted)))
        answers.append(logits.softmax(-1).flatten(0, 1))
        truths.append(wanted.argmax(dim=1))
    p, truth = torch.cat(answers).numpy(), torch.cat(truths).numpy()
    speech, heard = truth > 0, p[:, 0] < 0.5
    n = max(1, speech.sum())
    two, several = truth > 1, p[:, 2:].sum(1)
    found = several > 0.5
    return {
        "loss": float(np.mean(losses)),
        "miss": float((speech & ~heard).sum() / n),
        "false": float((heard & ~speech).sum() / n),
        "precision": float((two & found).sum() / max(1, found.sum())),
        "recall": float((two & found).sum() / max(1, two.sum())),
        "ap": float(average_precision_score(two, several)) if two.any() else 0.0,
    }
