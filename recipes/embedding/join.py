"""Join trained models to one of several branches, which err in different places.

    python recipes/embedding/join.py OUT.safetensors MODEL MODEL [MODEL ...]

Each model is a name that ships or a weights file, all of the same sizes and of one branch. f of the
joined model puts their vectors side by side; g composes each part as its own model does. What is
known of the vectors is the first model's until it is measured (`knowledge.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from diarize.embedding import CompositionalEmbedding, load_model, save_model


def joined(models: Sequence[CompositionalEmbedding]) -> CompositionalEmbedding:
    """Models of one branch each, side by side."""
    first = models[0]
    if any(model.config != first.config or model.config.branches > 1 for model in models):
        raise ValueError("models of one branch and the same sizes are joined")
    n = len(models)
    config = replace(first.config, dim=n * first.config.dim, branches=n)
    scatter = replace(first.knowledge.scatter, axes=None)
    found = CompositionalEmbedding(config, replace(first.knowledge, scatter=scatter))
    with torch.no_grad():
        for own, model in zip(found.encode.encoders, models, strict=True):
            own.load_state_dict(model.encode.state_dict())
        parts = [model.compose for model in models]
        found.compose.w1.weight.copy_(torch.block_diag(*(g.w1.weight for g in parts)))
        # The product of parts that are shorter by sqrt(n) is shorter by n; the sum is by sqrt(n).
        w2 = torch.block_diag(*(g.w2.weight for g in parts))
        found.compose.w2.weight.copy_(w2 * n**0.5)
    return found.eval()


def main(out: Path, names: Sequence[str]) -> None:
    """Load, join, write."""
    save_model(joined([load_model(name) for name in names]), out)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
