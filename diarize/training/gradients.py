"""Gradients are brought to a largest norm; one that is not finite would poison the weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from diarize.errors import TrainingError
from diarize.storage.files import write_weights


def clip(parameters: Iterable[tuple[str, nn.Parameter]], largest: float = math.inf) -> None:
    """Scale the gradients of parameters, together, to a norm of at most `largest`.

    Raises:
        TrainingError: one, or their norm, is not finite; no weight has been touched by then.
    """
    named = dict(parameters)
    norm = torch.nn.utils.clip_grad_norm_(named.values(), largest)
    if not torch.isfinite(norm):
        broken = [n for n, p in named.items() if p.grad is not None and not p.grad.isfinite().all()]
        if not broken:
            raise TrainingError("the norm of all gradients is not finite")
        others = f" and of {len(broken) - 1} other tensors" if len(broken) > 1 else ""
        raise TrainingError(f"the gradient of {broken[0]}{others} is not finite")


@contextmanager
def keeping(path: Path, step: int, batch: Mapping[str, Tensor]) -> Iterator[None]:
    """While a step is taken: keep its batch in a file if it cannot be.

    Raises:
        TrainingError: what the step raised, with the step and the file.
    """
    try:
        yield
    except TrainingError as problem:
        tensors = {name: tensor.detach().cpu() for name, tensor in batch.items()}
        write_weights(path, tensors, {"step": str(step)})
        raise TrainingError(
            f"step {step}: {problem}; training stops before it, its batch is in {path}"
        ) from None
