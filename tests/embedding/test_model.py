from dataclasses import replace

import pytest
import torch

from diarize.embedding.model import (
    Composition,
    CompositionalEmbedding,
    EmbeddingConfig,
    compose_triples,
)

SMALL = EmbeddingConfig(dim=6, hidden=8, layers=2, stack=4)


def unit(*shape: int) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.randn(*shape), dim=-1)


def random_composition(dim: int) -> Composition:
    g = Composition(dim)
    torch.nn.init.normal_(g.w1.weight)
    torch.nn.init.normal_(g.w2.weight)
    return g


def test_g_is_the_papers_form():
    torch.manual_seed(0)
    g, a, b = random_composition(6), unit(3, 6), unit(3, 6)
    w1, w2 = g.w1.weight, g.w2.weight
    plain = a @ w1.T + b @ w1.T + (a * b) @ w2.T
    torch.testing.assert_close(g(a, b), plain / plain.norm(dim=-1, keepdim=True))
    assert g.w1.bias is None and g.w2.bias is None


def test_g_is_symmetric_and_begins_as_the_mean():
    torch.manual_seed(0)
    g, a, b = random_composition(6), unit(3, 6), unit(3, 6)
    torch.testing.assert_close(g(a, b), g(b, a))
    mean = (a + b) / (a + b).norm(dim=-1, keepdim=True)
    torch.testing.assert_close(Composition(6)(a, b), mean)


def test_triples_do_not_depend_on_order():
    torch.manual_seed(0)
    g, (a, b, c) = random_composition(6), unit(3, 5, 6)
    torch.testing.assert_close(compose_triples(g, a, b, c), compose_triples(g, c, a, b))


@pytest.mark.parametrize("frames", [4, 5, 197])
def test_f_gives_unit_vectors(frames):
    torch.manual_seed(0)
    model = CompositionalEmbedding(SMALL)
    vectors = model(torch.randn(3, frames, 32))
    assert vectors.shape == (3, 6)
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(3))


def test_frames_that_fill_no_step_are_left_out():
    torch.manual_seed(0)
    model, frames = CompositionalEmbedding(SMALL), torch.randn(2, 23, 32)
    torch.testing.assert_close(model(frames), model(frames[:, :20]))


def test_the_paper_s_lstm_is_the_default():
    lstm = CompositionalEmbedding().encode.lstm
    assert (lstm.num_layers, lstm.hidden_size) == (2, 256)


def test_branches_hear_side_by_side():
    torch.manual_seed(0)
    model = CompositionalEmbedding(replace(SMALL, branches=2)).eval()
    features = torch.randn(3, 20, 32)
    vectors = model(features)
    torch.testing.assert_close(vectors.norm(dim=-1), torch.ones(3))
    first, second = (encoder(features) for encoder in model.encode.encoders)
    torch.testing.assert_close(vectors, torch.cat([first, second], dim=-1) / 2**0.5)
    torch.testing.assert_close(model.encode.locate(model.encode.pool(features)), vectors)


def test_branches_are_projected():
    torch.manual_seed(0)
    model = CompositionalEmbedding(replace(SMALL, branches=2, part=5)).eval()
    features = torch.randn(3, 20, 32)
    first, second = (encoder(features) for encoder in model.encode.encoders)
    assert first.shape == (3, 5)
    joined = torch.cat([first, second], dim=-1) @ model.encode.join.weight.T
    torch.testing.assert_close(model(features), joined / joined.norm(dim=-1, keepdim=True))
