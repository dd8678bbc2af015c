"""A training that was saved goes on as if it had not been."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from diarize.errors import InputError
from diarize.training.checkpoints import read_checkpoint, restore, save_checkpoint


def begin(seed: int) -> tuple[nn.Module, torch.optim.Optimizer]:
    torch.manual_seed(seed)
    module = nn.Linear(3, 2)
    return module, torch.optim.AdamW(module.parameters(), lr=0.1)


def advance(module: nn.Module, optimiser: torch.optim.Optimizer, step: int) -> None:
    optimiser.zero_grad()
    torch.autograd.backward(module(torch.full((4, 3), float(step))).square().sum())
    optimiser.step()


def test_it_goes_on_where_it_was(tmp_path: Path) -> None:
    module, optimiser = begin(0)
    for step in range(3):
        advance(module, optimiser, step)
    about, further = {"step": "3"}, {"scale": torch.tensor(2.5)}
    save_checkpoint(tmp_path / "c.safetensors", module, optimiser, about, further)

    tensors, said = read_checkpoint(tmp_path / "c.safetensors")
    assert said == about and tensors["scale"] == 2.5
    again, its_optimiser = begin(1)
    restore(tensors, again, its_optimiser)
    for step in range(3, 6):
        advance(module, optimiser, step)
        advance(again, its_optimiser, step)
    assert all(
        torch.equal(a, b) for a, b in zip(module.parameters(), again.parameters(), strict=True)
    )


@pytest.mark.parametrize("content", [b"", b"nothing", b"\xff" * 200])
def test_a_damaged_checkpoint_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "c.safetensors"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"c\.safetensors: a damaged checkpoint"):
        read_checkpoint(path)
