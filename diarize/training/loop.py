"""How f and g learn: the rate of a step, what it does with a batch, which batches there are."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from diarize.embedding.model import CompositionalEmbedding
from diarize.progress import Hook
from diarize.training.development import Episodes, SetAccuracy, set_accuracy
from diarize.training.episodes import Batch
from diarize.training.gradients import clip
from diarize.training.loading import loader
from diarize.training.losses import episode_loss
from diarize.training.processes import ALONE, Processes
from diarize.training.steps import Learner, Report, take_steps

FIRST_SCALE = 10.0  # of the cosines inside the softmax; learned from there
LARGEST_SCALE = 40.0
TRAINED_SCALE = 25.0  # near where it comes to lie
FIRST_LOOK = 10**9  # steps of which the spread of the features is measured; never trained on


@dataclass(frozen=True)
class LoopConfig:
    """How long and how fast.

    Attributes:
        steps: steps in all.
        rate: learning rate after `warmup` steps.
        warmup: steps in which the rate rises linearly from zero.
        cooldown: last steps, in which the rate falls linearly to zero.
        g_rate: factor on the learning rate of g (its second term sees products of small numbers).
        max_set_size: most voices (1 to 3) in the sets that a window is looked for among.
        clip: largest norm of the gradient.
        every: steps between two checkpoints.
        bf16: whether f runs in bfloat16 (weights and losses stay in float32).
    """

    steps: int = 20_000
    rate: float = 1.5e-3
    warmup: int = 300
    cooldown: int = 4_000
    g_rate: float = 3.0
    max_set_size: int = 3
    clip: float = 1.0
    every: int = 1_000
    bf16: bool = True


class Trainer(Learner):
    """f, g and the optimiser's state, moved along one step at a time."""

    figure = "accuracy"

    def __init__(
        self,
        model: CompositionalEmbedding,
        config: LoopConfig,
        device: str = "cpu",
        processes: Processes = ALONE,
    ) -> None:
        model, self.processes = model.to(device), processes
        self.log_scale = nn.Parameter(torch.tensor(math.log(FIRST_SCALE), device=device))
        rates = [
            {"params": [*model.encode.parameters(), self.log_scale], "factor": 1.0},
            {"params": model.compose.parameters(), "factor": config.g_rate},
        ]
        beside = nn.ParameterDict({"log_scale": self.log_scale})
        super().__init__(model, rates, config, device, beside, model)

    def rate(self, step: int) -> float:
        """The learning rate at a step: a ramp, a plateau, a slope to zero."""
        config = self.config
        up = min(1.0, (step + 1) / max(1, config.warmup))
        down = min(1.0, (config.steps - step) / max(1, config.cooldown))
        return config.rate * up * max(0.0, down)

    def compare_rates(self, before: Mapping[str, Any]) -> None:
        """Warn where the rate has begun to fall as it would not now, or the other way round."""
        steps, cooldown = int(before["steps"]), int(before["cooldown"])
        now = self.config.steps, self.config.cooldown
        if now != (steps, cooldown) and self.step > min(steps - cooldown, now[0] - now[1]):
            warnings.warn(
                f"{self.step} steps were taken of {steps} whose rate falls over the last "
                f"{cooldown}: the weights will not be those of {now[0]} and {now[1]} from the "
                "beginning",
                stacklevel=2,
            )

    def advance(self, batch: Batch) -> dict[str, float]:
        """Take one step with its windows; gives the parts of the loss.

        Raises:
            TrainingError: the gradient is not finite; the weights are as they were.
        """
        for group in self.optimiser.param_groups:
            group["lr"] = self.rate(self.step) * group["factor"]
        batch = batch.to(self.device)
        model = self.model.train()
        kind = torch.device(self.device).type
        with torch.autocast(kind, torch.bfloat16, self.config.bf16 and runs_bf16(kind)):
            flat = model(batch.features)
        vectors = flat.float().unflatten(0, batch.known.shape)
        parts = self.losses(batch, vectors)
        loss = torch.stack(list(parts.values())).sum()
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self.processes.average(p.grad for p in self._parameters() if p.grad is not None)
        clip(self._named(), self.config.clip)
        self.optimiser.step()
        self.step += 1
        return {name: float(part.detach()) for name, part in parts.items()}

    def losses(self, batch: Batch, vectors: Float[Tensor, "e windows dim"]) -> dict[str, Tensor]:
        """The parts of the loss, weighted."""
        scale = self.log_scale.exp().clamp(max=LARGEST_SCALE)
        asked = batch.members, batch.alone, scale, self.config.max_set_size, batch.known
        return {"windows": episode_loss(self.model.compose, vectors, *asked)}

    def _parameters(self) -> list[nn.Parameter]:
        return [p for group in self.optimiser.param_groups for p in group["params"]]

    def _named(self) -> Iterator[tuple[str, nn.Parameter]]:
        names = {p: name for name, p in self.model.named_parameters()}
        for n, parameter in enumerate(self._parameters()):
            yield names.get(parameter, f"parameter {n} beside the model"), parameter

    def worth(self, figures: Mapping[str, SetAccuracy]) -> float:
        """The mean accuracy over the corpora."""
        return sum(one.all for one in figures.values()) / len(figures)

    def begin_with(self, model: CompositionalEmbedding) -> None:
        """Begin with the weights of a trained model of the same sizes."""
        self.model.load_state_dict(model.state_dict())
        with torch.no_grad():
            self.log_scale.fill_(math.log(TRAINED_SCALE))


def runs_bf16(kind: str) -> bool:
    """Whether an LSTM runs in bfloat16 there: on processors without it, it is an error."""
    return kind != "cpu" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def begin(
    trainer: Trainer,
    maker: torch.utils.data.Dataset[Batch],
    checkpoint: Path | None,
    start: CompositionalEmbedding | None = None,
) -> None:
    """Go on from a checkpoint, begin with weights, or measure the features and begin.

    Raises:
        InputError: the checkpoint is damaged.
    """
    if checkpoint is not None and checkpoint.is_file():
        trainer.load(checkpoint)
    elif start is not None:
        trainer.begin_with(start)
    else:
        trainer.model.encode.measure([maker[FIRST_LOOK + i].features for i in range(3)])


def train(
    trainer: Trainer,
    maker: torch.utils.data.Dataset[Batch],
    folder: Path,
    development: Mapping[str, Episodes],
    *,
    workers: int = 1,
    until: int | None = None,
    hook: Hook | None = None,
    report: Report | None = None,
) -> None:
    """Take steps, as `take_steps` does, with what `maker` makes.

    Of several processes, each makes batches of its own number, and the first writes and reports.
    `development` are drawn episodes of unseen speakers by corpus. `workers` processes make batches,
    0 makes them here; it stops before step `until`, as if interrupted.
    """
    config, processes = trainer.config, trainer.processes
    last = config.steps if until is None else min(config.steps, until)
    own = range(
        trainer.step * processes.count + processes.rank, last * processes.count, processes.count
    )
    take_steps(
        trainer,
        zip(own, loader(maker, own, workers), strict=True),
        lambda: {k: set_accuracy(trainer.model, v) for k, v in development.items()},
        folder,
        last=last,
        first=processes.first,
        hook=hook,
        report=report,
    )
    processes.wait()
