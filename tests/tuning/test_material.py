"""`--compose`: which function g."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diarize.clustering.composition import PLAIN
from diarize.errors import InputError
from diarize.formats.embeddings import Embeddings
from diarize.tuning.material import composition

FILE = Path("x.npz")


def test_plain_ones_by_name() -> None:
    for name, plain in PLAIN.items():
        assert composition(name, Embeddings(np.eye(3)), FILE) is plain


def test_that_of_the_model(tiny_weights: Path) -> None:
    import torch

    g = composition("model", Embeddings(np.eye(16), str(tiny_weights)), FILE)
    assert g(torch.eye(16)[:2], torch.eye(16)[2:4]).shape == (2, 16)


@pytest.mark.parametrize(
    ("name", "model", "reason"),
    [
        ("median", None, "compose median: not one of model, max, sum, mean"),
        ("model", None, "x.npz: no model is named in it"),
        ("model", "lstm-compositional", "x.npz: vectors of 3 dimensions"),
    ],
)
def test_what_cannot_be_used_is_refused(name: str, model: str | None, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        composition(name, Embeddings(np.eye(3), model), FILE)
