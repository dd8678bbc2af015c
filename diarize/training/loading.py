"""Processes that make batches ahead of their use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from diarize.errors import InputError


def loader(
    maker: Any,
    numbers: Sequence[int],
    workers: int,
    ahead: int = 4,
    generator: torch.Generator | None = None,
) -> Iterator[Any]:
    """Begin to make `maker[number]` for each number, in their order.

    Args:
        maker: what it gives depends on the number alone.
        numbers: of what is made.
        workers: processes that make it; 0 makes it here, when it is asked for.
        ahead: how many each of them makes before they are asked for.
        generator: of the seed that is drawn for the processes; None: torch's own.

    Raises:
        OSError, InputError: as `maker` raises them, when it is their turn.
    """
    loaded: torch.utils.data.DataLoader[Any] = torch.utils.data.DataLoader(
        _Plain(maker),  # type: ignore[arg-type]
        batch_size=None,
        sampler=numbers,
        num_workers=workers,
        prefetch_factor=ahead if workers else None,
        generator=generator,
    )
    return map(_given, loaded)


@dataclass(frozen=True)
class _Plain:
    """Gives what goes wrong: out of a process, torch raises its traceback."""

    maker: Any

    def __getitem__(self, number: int) -> Any:
        try:
            return self.maker[number]
        except (OSError, InputError) as problem:
            return problem


def _given(made: Any) -> Any:
    if isinstance(made, Exception):
        raise made
    return made
