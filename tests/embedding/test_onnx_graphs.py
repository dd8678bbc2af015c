from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
import torch

from diarize.embedding import CompositionalEmbedding, EmbeddingConfig, load_model
from diarize.embedding.onnx_graphs import composition_graph, encoder_graph
from diarize.errors import InputError


def run(graph: Any, **inputs: torch.Tensor) -> np.ndarray:
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    (found,) = session.run(None, {name: value.numpy() for name, value in inputs.items()})
    return found


def random_model(**sizes: int) -> CompositionalEmbedding:
    torch.manual_seed(0)
    model = CompositionalEmbedding(EmbeddingConfig(**sizes)).eval().requires_grad_(False)
    for parameter in (*model.encode.parameters(), *model.compose.parameters()):
        torch.nn.init.normal_(parameter, std=0.3)
    for encoder in model.encode.encoders:
        encoder.spread.copy_(torch.rand(32) + 0.5)
        encoder.average_centre.copy_(torch.randn(31))
        encoder.average_spread.copy_(torch.rand(31) + 0.5)
    return model


@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("frames", [4, 7, 8, 60, 199])
def test_f_gives_the_vectors_of_the_shipped_model(batch: int, frames: int) -> None:
    torch.manual_seed(0)
    model = load_model()
    features = 3 * torch.randn(batch, frames, 32) + 5 * torch.randn(batch, 1, 32)
    found = run(encoder_graph(model), features=features)
    assert found.shape == (batch, model.dim)
    assert np.abs(found - model(features).numpy()).max() < 1e-4


@pytest.mark.parametrize(
    "sizes",
    [{"layers": layers, "stack": stack} for layers in (1, 3) for stack in (1, 5)]
    + [{"branches": branches, "part": part} for branches in (2, 3) for part in (0, 5)],
    ids=str,
)
def test_f_of_other_sizes(sizes: dict[str, int]) -> None:
    model = random_model(dim=6, hidden=5, **sizes)
    features = torch.randn(3, 41, 32)
    found = run(encoder_graph(model), features=features)
    assert found.shape == (3, 6)
    assert np.abs(found - model(features).numpy()).max() < 1e-4


@pytest.mark.parametrize("batch", [1, 9])
def test_g_gives_the_vectors_of_its_model(batch: int) -> None:
    for model in (load_model(), random_model(dim=6, hidden=5)):
        a, b = torch.nn.functional.normalize(torch.randn(2, batch, model.config.dim), dim=-1)
        found = run(composition_graph(model), a=a, b=b)
        assert np.abs(found - model.compose(a, b).numpy()).max() < 1e-4


def test_the_graphs_say_what_they_were_made_of() -> None:
    graph = encoder_graph(random_model(dim=6, hidden=5, stack=2))
    assert {entry.key: entry.value for entry in graph.metadata_props}["diarize.stack"] == "2"


def test_without_onnx_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tiny_weights: Path
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"pip install 'diarize-sets\[onnx\]'"):
        composition_graph(load_model(tiny_weights))
