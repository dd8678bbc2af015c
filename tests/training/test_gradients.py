from __future__ import annotations

import pytest
import torch
from torch import nn

from diarize.errors import TrainingError
from diarize.training.gradients import clip


def test_gradients_are_scaled_together() -> None:
    layer = nn.Linear(3, 2)
    layer(torch.ones(3)).sum().backward()
    clip(layer.named_parameters(), 0.5)
    norms = [float(p.grad.norm()) for p in layer.parameters() if p.grad is not None]
    assert sum(norm**2 for norm in norms) ** 0.5 == pytest.approx(0.5, rel=1e-4)


def test_a_norm_beyond_all_numbers_is_told() -> None:
    layer = nn.Linear(3, 2)
    for parameter in layer.parameters():
        parameter.grad = torch.full_like(parameter, 3e38)
    with pytest.raises(TrainingError, match="the norm of all gradients is not finite"):
        clip(layer.named_parameters(), 0.5)
