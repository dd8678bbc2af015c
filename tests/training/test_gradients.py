from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from diarize.errors import TrainingError
from diarize.training.gradients import clip, keeping


def test_gradients_are_scaled_together() -> None:
    layer = nn.Linear(3, 2)
    layer(torch.ones(3)).sum().backward()
    clip(layer.named_parameters(), 0.5)
    norms = [float(p.grad.norm()) for p in layer.parameters() if p.grad is not None]
    assert sum(norm**2 for norm in norms) ** 0.5 == pytest.approx(0.5, rel=1e-4)


def test_one_that_is_not_finite_is_named_and_its_batch_kept(tmp_path: Path) -> None:
    layer = nn.Linear(3, 2)
    (layer(torch.ones(3)).sum() * torch.inf).backward()
    batch = {"rows": torch.arange(4.0)}
    with (
        pytest.raises(TrainingError, match=r"step 7: the gradient of weight.*batch\.safetensors"),
        keeping(tmp_path / "batch.safetensors", 7, batch),
    ):
        clip(layer.named_parameters())
    assert torch.equal(load_file(tmp_path / "batch.safetensors")["rows"], batch["rows"])
