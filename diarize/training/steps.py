"""What all trainings have in common: steps, checkpoints that resume, the best weights, reports."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from diarize.errors import InputError
from diarize.progress import Hook
from diarize.storage.weights import read_weights
from diarize.training.checkpoints import restore, save_checkpoint, under
from diarize.training.gradients import keeping

BEST = "best."  # before the names of the best weights in a checkpoint


# Called at each checkpoint with the step, the mean parts of the loss, development figures, and the
# step of the best weights.
Report = Callable[[int, dict[str, float], dict[str, Any], int | None], None]


@dataclass(frozen=True)
class Best:
    """The weights that did best on unheard voices so far, after which step, and how well."""

    step: int
    figure: float
    weights: Mapping[str, Tensor]


class Learner:
    """A model and its optimiser, moved along one step at a time.

    Attributes:
        figure, sign: what weights are judged by, as checkpoints call it; 1: more is better, or -1.
        step: how many were taken.
        best: the weights to keep; None as long as nobody has judged any.
        beside: what a checkpoint holds beside the model and the optimiser.
        shipped: the model that is judged, and ships.
    """

    figure: str
    sign = 1

    def __init__(
        self, model: Any, rates: Any, config: Any, device: str, beside: nn.Module, shipped: Any
    ) -> None:
        self.model, self.config, self.device = model, config, device
        self.beside, self.shipped = beside, shipped
        self.optimiser = torch.optim.AdamW(
            rates, lr=config.rate, betas=(0.9, 0.98), weight_decay=1e-4
        )
        self.step = 0
        self.best: Best | None = None

    def advance(self, batch: Any) -> dict[str, float]:
        """Take a step; gives the parts of its loss."""
        raise NotImplementedError

    def judge(self, figures: Mapping[str, Any]) -> None:
        """Remember the present weights if none were better; of equals the later."""
        figure = self.worth(figures)
        if self.best is None or self.sign * figure >= self.sign * self.best.figure:
            state = self.shipped.state_dict()
            weights = {name: value.detach().cpu().clone() for name, value in state.items()}
            self.best = Best(self.step, figure, weights)

    def worth(self, figures: Mapping[str, Any]) -> float:
        """What weights with these development figures are judged by."""
        return float(figures[self.figure])

    def finished(self) -> Any:
        """What ships: the model with the best weights, or, where none were judged, the last."""
        model: nn.Module = deepcopy(self.shipped)
        if self.best is not None:
            model.load_state_dict(self.best.weights)
        return model

    def compare_rates(self, before: Mapping[str, Any]) -> None:
        """Warn where steps so far, by what `config` was, had other rates than they would now."""

    def save(self, path: Path) -> None:
        """Write a checkpoint: weights, optimiser, step, the best weights. No pickle."""
        about = {"step": str(self.step), "config": json.dumps(asdict(self.model.config))}
        about["loop"] = json.dumps(asdict(self.config))
        further = self.beside.state_dict()
        if self.best is not None:
            about["best"] = json.dumps({"step": self.best.step, self.figure: self.best.figure})
            further |= {f"{BEST}{name}": value for name, value in self.best.weights.items()}
        save_checkpoint(path, self.model, self.optimiser, about, further)

    def load(self, path: Path) -> None:
        """Go on from a checkpoint.

        Raises:
            InputError: the file is damaged, or of another training.
        """
        about, tensors = read_weights(path, "checkpoint")
        try:
            restore(tensors, self.model, self.optimiser)
            self.beside.load_state_dict({name: tensors[name] for name in self.beside.state_dict()})
            self.step = int(about["step"])
        except (RuntimeError, KeyError, ValueError):
            raise InputError(f"{path}: no checkpoint of such a training") from None
        if "loop" in about:
            self.compare_rates(json.loads(about["loop"]))
        if "best" in about:
            best = json.loads(about["best"])
            weights = {name: value.cpu() for name, value in under(BEST, tensors).items()}
            self.best = Best(best["step"], best[self.figure], weights)


def take_steps(
    learner: Learner,
    batches: Iterable[tuple[int, Any]],
    judge: Callable[[], dict[str, Any]],
    folder: Path,
    *,
    last: int,
    first: bool = True,
    hook: Hook | None = None,
    report: Report | None = None,
) -> None:
    """Take a step with each batch, writing `folder/checkpoint.safetensors` now and then.

    Args:
        learner: where to go on.
        batches: each with the number under which it is made again.
        judge: gives development figures, if there are any.
        folder: where checkpoints go.
        last: step before which this run stops.
        first: whether this process is the one that writes and reports.
        hook: progress, in steps.
        report: called at each checkpoint.

    Raises:
        TrainingError: a gradient that is not finite; its batch is kept in the folder.
    """
    config = learner.config
    sums: dict[str, float] = {}
    since = learner.step
    for item, batch in batches:
        with keeping(folder / f"broken-{item}.safetensors", learner.step, vars(batch)):
            parts = learner.advance(batch)
        for name, part in parts.items():
            sums[name] = sums.get(name, 0.0) + part
        if not first:
            continue
        step = learner.step
        if hook:
            hook("training", step, config.steps)
        if step % config.every == 0 or step == last:
            figures = judge()
            # An interruption elsewhere makes no difference to what ships.
            if figures and (step % config.every == 0 or step == config.steps):
                learner.judge(figures)
            learner.save(folder / "checkpoint.safetensors")
            if report:
                means = {name: total / (step - since) for name, total in sums.items()}
                report(step, means, figures, None if learner.best is None else learner.best.step)
            sums, since = {}, step
