"""Training that goes on from trained weights: large matrices move by Muon, the rest by AdamW."""

from __future__ import annotations

from typing import TypeVar

import torch
from torch import Tensor

from diarize.embedding import CompositionalEmbedding
from diarize.training.loop import LoopConfig, Trainer

RATE, FASTER = 1e-3, 5.0  # and by what matrices move faster
DECAY = 0.01

SomeTrainer = TypeVar("SomeTrainer", bound=Trainer)


class Muon(torch.optim.AdamW):
    """Matrices of groups marked `muon` move by their orthogonalised momentum (Jordan 2024)."""

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Take a step."""
        groups = self.param_groups
        for group in (g for g in groups if g.get("muon")):
            for p in group["params"]:
                state = self.state[p]
                if not state:  # AdamW looks for a step when its state is loaded
                    state |= {"momentum": torch.zeros_like(p), "step": torch.tensor(0.0)}
                momentum = state["momentum"]
                momentum.mul_(0.95).add_(p.grad)
                gates = len(p) // 4 if len(p) % 1024 == 0 else len(p)  # of an LSTM, each by itself
                update = orthogonal((p.grad + 0.95 * momentum).unflatten(0, (-1, gates)))
                update *= max(1.0, gates / p.shape[1]) ** 0.5
                p.mul_(1 - DECAY * group["lr"]).add_(update.flatten(0, 1), alpha=-group["lr"])
        self.param_groups = [g for g in groups if not g.get("muon")]
        super().step()
        self.param_groups = groups


def orthogonal(matrices: Tensor) -> Tensor:
    """Bring all singular values near one: five Newton-Schulz iterations."""
    x = matrices.bfloat16()
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    for _ in range(5):
        square = x @ x.mT
        x = 3.4445 * x + (2.0315 * square @ square - 4.7750 * square) @ x
    return (x.mT if tall else x).float()


def going_on(
    kind: type[SomeTrainer], start: CompositionalEmbedding, config: LoopConfig, device: str = "cpu"
) -> SomeTrainer:
    """A trainer of this kind that begins with these weights; Muon moves the matrices."""
    trainer = kind(CompositionalEmbedding(start.config, start.knowledge), config, device)
    trainer.begin_with(start)
    named = list(trainer.model.encode.named_parameters())
    others = [p for name, p in named if not _moves_faster(name)]
    groups = [
        {"params": [*others, trainer.log_scale], "factor": 1.0},
        {"params": list(trainer.model.compose.parameters()), "factor": trainer.config.g_rate},
        {"params": [p for name, p in named if _moves_faster(name)], "factor": FASTER, "muon": True},
    ]
    trainer.optimiser = Muon(groups, lr=RATE, betas=(0.9, 0.98), weight_decay=1e-4)
    return trainer


def _moves_faster(name: str) -> bool:
    return "lstm.weight" in name or name.endswith("project.weight")
