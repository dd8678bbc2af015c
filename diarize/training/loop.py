"""The training loop of f and g: steps, checkpoints that resume, a development report."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from diarize.embedding.model import CompositionalEmbedding
from diarize.training.checkpoints import read_checkpoint, restore, save_checkpoint, under
from diarize.training.development import Episodes, SetAccuracy, set_accuracy
from diarize.training.episodes import Batch
from diarize.training.gradients import clip, keeping
from diarize.training.losses import episode_loss, set_softmax, teacher_loss
from diarize.training.processes import ALONE, Processes

FIRST_SCALE = 10.0  # of the cosines inside the softmax; learned from there
LARGEST_SCALE = 40.0
TRAINED_SCALE = 25.0  # near where it comes to lie

BEST = "best."  # before the names of the best weights in a checkpoint

# Called at each checkpoint with the step, the mean parts of the loss, set accuracy, and the step of
# the best weights.
Report = Callable[[int, dict[str, float], dict[str, SetAccuracy], int | None], None]


@dataclass(frozen=True)
class LoopConfig:
    """How long and how fast.

    Attributes:
        steps: steps in all.
        rate: learning rate after `warmup` steps.
        warmup: steps in which the rate rises linearly from zero.
        cooldown: last steps, in which the rate falls linearly to zero.
        teacher: weight of the pull towards the teacher's vectors, when there are any.
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
    teacher: float = 2.0
    g_rate: float = 3.0
    max_set_size: int = 3
    clip: float = 1.0
    every: int = 1_000
    bf16: bool = True


@dataclass(frozen=True)
class Best:
    """The weights that did best on unseen speakers so far.

    Attributes:
        step: after which they were these.
        accuracy: set accuracy, mean over the corpora.
        weights: of f and g.
    """

    step: int
    accuracy: float
    weights: Mapping[str, Tensor]


class Trainer:
    """f, g and the optimiser's state, moved along one step at a time.

    Attributes:
        best: the weights to keep; None as long as nobody has judged any.
    """

    def __init__(
        self,
        model: CompositionalEmbedding,
        config: LoopConfig,
        device: str = "cpu",
        processes: Processes = ALONE,
    ) -> None:
        self.model = model.to(device)
        self.config, self.device, self.processes = config, device, processes
        self.log_scale = nn.Parameter(torch.tensor(math.log(FIRST_SCALE), device=device))
        self.optimiser = torch.optim.AdamW(
            [
                {"params": [*model.encode.parameters(), self.log_scale], "factor": 1.0},
                {"params": model.compose.parameters(), "factor": config.g_rate},
            ],
            lr=config.rate,
            betas=(0.9, 0.98),
            weight_decay=1e-4,
        )
        self.step = 0
        self.best: Best | None = None

    def rate(self, step: int) -> float:
        """The learning rate at a step: a ramp, a plateau, a slope to zero."""
        config = self.config
        up = min(1.0, (step + 1) / max(1, config.warmup))
        down = min(1.0, (config.steps - step) / max(1, config.cooldown))
        return config.rate * up * max(0.0, down)

    def advance(self, batch: Batch, targets: Tensor | None) -> dict[str, float]:
        """Take one step.

        Args:
            batch: the windows of this step.
            targets: the teacher's vectors of all voices, `(voices, dim)`, or None.

        Returns:
            The parts of the loss.

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
        wanted = None
        if targets is not None:
            wanted = targets[batch.voices.to(targets.device)].to(self.device)
        parts = self.losses(batch, vectors, wanted)
        loss = torch.stack(list(parts.values())).sum()
        self.optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        self.processes.average(p.grad for p in self._parameters() if p.grad is not None)
        clip(self._named(), self.config.clip)
        self.optimiser.step()
        self.step += 1
        return {name: float(part.detach()) for name, part in parts.items()}

    def losses(
        self,
        batch: Batch,
        vectors: Float[Tensor, "e windows dim"],
        wanted: Float[Tensor, "e speakers dim"] | None,
    ) -> dict[str, Tensor]:
        """The parts of the loss, weighted; `wanted` are the teacher's vectors of the voices."""
        config, compose, members = self.config, self.model.compose, batch.members
        scale, largest = self.log_scale.exp().clamp(max=LARGEST_SCALE), config.max_set_size
        parts = {
            "windows": episode_loss(
                compose, vectors, members, batch.alone, scale, largest, batch.known
            )
        }
        if wanted is not None:
            parts["voices"] = set_softmax(
                compose, wanted, vectors, members, scale, largest, batch.known
            )
            parts["teacher"] = config.teacher * teacher_loss(vectors, members, wanted)
        return parts

    def _parameters(self) -> list[nn.Parameter]:
        return [p for group in self.optimiser.param_groups for p in group["params"]]

    def _named(self) -> Iterator[tuple[str, nn.Parameter]]:
        names = {p: name for name, p in self.model.named_parameters()}
        for n, parameter in enumerate(self._parameters()):
            yield names.get(parameter, f"parameter {n} beside the model"), parameter

    def judge(self, accuracy: Mapping[str, SetAccuracy]) -> None:
        """Remember the present weights if they are the best so far; of equals the later."""
        mean = sum(one.all for one in accuracy.values()) / len(accuracy)
        if self.best is None or mean >= self.best.accuracy:
            state = self.model.state_dict()
            weights = {name: value.detach().cpu().clone() for name, value in state.items()}
            self.best = Best(self.step, mean, weights)

    def finished(self) -> CompositionalEmbedding:
        """What ships: the model with the best weights, or, where none were judged, the last."""
        if self.best is None:
            return self.model
        model = deepcopy(self.model)
        model.load_state_dict(self.best.weights)
        return model

    def begin_with(self, model: CompositionalEmbedding) -> None:
        """Begin with the weights of a trained model of the same sizes."""
        self.model.load_state_dict(model.state_dict())
        with torch.no_grad():
            self.log_scale.fill_(math.log(TRAINED_SCALE))

    def save(self, path: Path) -> None:
        """Write a checkpoint: weights, optimiser, step, the best weights. No pickle."""
        about = {"step": str(self.step), "config": json.dumps(asdict(self.model.config))}
        further = {"log_scale": self.log_scale.detach()}
        if self.best is not None:
            about["best"] = json.dumps({"step": self.best.step, "accuracy": self.best.accuracy})
            further |= {f"{BEST}{name}": value for name, value in self.best.weights.items()}
        save_checkpoint(path, self.model, self.optimiser, about, further)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint.

        Raises:
            InputError: the file is damaged.
        """
        tensors, about = read_checkpoint(path, self.device)
        restore(tensors, self.model, self.optimiser)
        with torch.no_grad():
            self.log_scale.copy_(tensors["log_scale"])
        self.step = int(about["step"])
        if "best" in about:
            weights = {name: value.cpu() for name, value in under(BEST, tensors).items()}
            self.best = Best(**json.loads(about["best"]), weights=weights)


def runs_bf16(kind: str) -> bool:
    """Whether an LSTM runs in bfloat16 there: on processors without it, it is an error."""
    return kind != "cpu" or bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())


def train(
    trainer: Trainer,
    maker: torch.utils.data.Dataset[Batch],
    targets: Tensor | None,
    folder: Path,
    development: Mapping[str, Episodes],
    *,
    workers: int = 1,
    until: int | None = None,
    hook: Callable[[str, float, float], None] | None = None,
    report: Report | None = None,
) -> None:
    """Run steps, writing `folder/checkpoint.safetensors` now and then.

    Of several processes, each makes the batches of its own number, and the first writes and
    reports. The weights that are best by development figures are remembered (`Trainer.best`).

    Args:
        trainer: where to go on.
        maker: makes the batch of each step.
        targets: the teacher's vectors of all voices.
        folder: where checkpoints go.
        development: drawn episodes of unseen speakers, by name of their corpus.
        workers: processes that make batches; 0 makes them here.
        until: stop before this step, as if interrupted; None: run to the end.
        hook: progress, in steps.
        report: called at each checkpoint.

    Raises:
        TrainingError: a gradient that is not finite; its batch is kept in the folder, by the
            number under which `maker` makes it again.
    """
    config, processes = trainer.config, trainer.processes
    last = config.steps if until is None else min(config.steps, until)
    own = range(
        trainer.step * processes.count + processes.rank, last * processes.count, processes.count
    )
    batches = torch.utils.data.DataLoader(
        maker,
        batch_size=None,
        sampler=own,
        num_workers=workers,
        prefetch_factor=4 if workers else None,
    )
    sums: dict[str, float] = {}
    since = trainer.step
    for item, batch in zip(own, batches, strict=True):
        with keeping(folder / f"broken-{item}.safetensors", trainer.step, vars(batch)):
            parts = trainer.advance(batch, targets)
        for name, part in parts.items():
            sums[name] = sums.get(name, 0.0) + part
        if hook and processes.first:
            hook("training", trainer.step, config.steps)
        if processes.first and (trainer.step % config.every == 0 or trainer.step == last):
            accuracy = {k: set_accuracy(trainer.model, v) for k, v in development.items()}
            # An interruption elsewhere makes no difference to what ships.
            if accuracy and (trainer.step % config.every == 0 or trainer.step == config.steps):
                trainer.judge(accuracy)
            trainer.save(folder / "checkpoint.safetensors")
            if report:
                means = {k: v / (trainer.step - since) for k, v in sums.items()}
                best = None if trainer.best is None else trainer.best.step
                report(trainer.step, means, accuracy, best)
            sums, since = {}, trainer.step
    processes.wait()
