"""Several processes that train one model together, as torchrun starts them.

    torchrun --nproc-per-node 2 --module diarize train embedding ...

Each makes batches of its own; gradients are averaged before every step, so that all hold the same
weights, and a step sees as many windows as there are processes times those of one batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module

import torch
from torch import Tensor

# How long the others wait for one of them: the first collects and teaches voices alone, of a large
# corpus for hours. That one has died is noticed by torchrun, which ends the others.
PATIENCE = timedelta(days=7)


@dataclass(frozen=True)
class Processes:
    """How many there are, and which of them this one is.

    Attributes:
        rank: number of this process, from 0.
        count: how many there are.
    """

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        """Whether this is the one that writes and reports."""
        return self.rank == 0

    def wait(self) -> None:
        """Go on when all processes are here."""
        if self.count > 1:
            torch.distributed.barrier()

    def average(self, tensors: Iterable[Tensor]) -> None:
        """Replace each tensor, in place, by its mean over the processes."""
        if self.count == 1:
            return
        parts = list(tensors)
        joined = torch.cat([part.flatten() for part in parts])
        torch.distributed.all_reduce(joined)
        joined /= self.count
        sizes = [part.numel() for part in parts]
        for part, mean in zip(parts, torch.split(joined, sizes), strict=True):
            part.copy_(mean.view_as(part))


ALONE = Processes()


def is_first() -> bool:
    """Whether torchrun started no process before this one; also before they have joined."""
    return os.environ.get("RANK", "0") == "0"


@contextmanager
def join_processes(device: str) -> Iterator[tuple[Processes, str]]:
    """Join the processes that torchrun started; without it this one is alone.

    Yields:
        The processes, and the device of this one ("cuda:1").
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE, device
        return
    # Whatever imports this first, as an optimiser does, holds the group that is there by then for
    # good: its threads live on, and end the process by SIGABRT if one is at work at the exit.
    import_module("torch._dynamo")
    on_gpu = device == "cuda"
    if on_gpu:
        device = f"cuda:{os.environ['LOCAL_RANK']}"
        torch.cuda.set_device(device)
    torch.distributed.init_process_group("nccl" if on_gpu else "gloo", timeout=PATIENCE)
    try:
        yield (
            Processes(torch.distributed.get_rank(), torch.distributed.get_world_size()),
            device,
        )
    finally:
        torch.distributed.destroy_process_group()
