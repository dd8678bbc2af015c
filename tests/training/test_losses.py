import math
from itertools import combinations

import pytest
import torch

from diarize.embedding.model import Composition
from diarize.training.losses import (
    compose_all,
    episode_loss,
    reference_rounds,
    set_index,
    set_softmax,
)


def unit(*shape: int) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.randn(*shape), dim=-1)


def test_sets_are_composed_in_order_and_found_again():
    torch.manual_seed(0)
    g, references = Composition(6), unit(2, 4, 6)
    composed = compose_all(g, references, 3)
    sets = [s for size in (1, 2, 3) for s in combinations(range(4), size)]
    assert composed.shape == (2, len(sets), 6)
    for index, chosen in enumerate(sets):
        members = torch.zeros(4, dtype=torch.bool)
        members[list(chosen)] = True
        assert int(set_index(members, 3)) == index
        if len(chosen) == 2:
            pair = g(references[:, chosen[0]], references[:, chosen[1]])
            torch.testing.assert_close(composed[:, index], pair)
    assert int(set_index(torch.ones(4, dtype=torch.bool), 3)) == -1


def test_softmax_written_out():
    torch.manual_seed(0)
    g, references, query = Composition(4), unit(1, 2, 4), unit(1, 1, 4)
    members = torch.tensor([[[True, True]]])
    candidates = [references[0, 0], references[0, 1], g(references[0, 0], references[0, 1])]
    logits = [5.0 * float((query[0, 0] @ c).detach()) for c in candidates]
    expected = math.log(sum(map(math.exp, logits))) - logits[2]
    every = torch.tensor([[True]])
    loss = set_softmax(g, references, query, members, torch.tensor(5.0), 3, every)
    assert float(loss.detach()) == pytest.approx(expected, abs=1e-5)


def test_windows_at_their_places_cost_little_and_wrong_ones_much():
    g, references = Composition(8), torch.eye(3, 8)[None]
    sets = torch.tensor(
        [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0]]
    )
    members = sets.bool()[None]
    vectors = torch.nn.functional.normalize(sets.float() @ references[0], dim=-1)[None]
    alone = torch.tensor([[True] * 6 + [False]])
    known = torch.ones_like(alone)
    right = episode_loss(g, vectors, members, alone, torch.tensor(30.0), 3, known)
    mixed_up = vectors[:, [0, 1, 2, 1, 2, 0, 2]]
    wrong = episode_loss(g, mixed_up, members, alone, torch.tensor(30.0), 3, known)
    assert float(right.detach()) < 0.05 < 5 < float(wrong.detach())


def test_of_no_windows_there_is_no_loss():
    torch.manual_seed(0)
    g, vectors = Composition(4), unit(1, 3, 4).requires_grad_()
    members = torch.ones(1, 3, 2, dtype=torch.bool)
    nobody = torch.zeros(1, 3, dtype=torch.bool)
    asked = set_softmax(g, torch.eye(2, 4)[None], vectors, members, torch.tensor(5.0), 2, nobody)
    assert float(asked.detach()) == 0
    torch.autograd.backward(asked)
    assert vectors.grad.isfinite().all()


def test_what_is_not_known_is_neither_reference_nor_asked():
    torch.manual_seed(0)
    g, vectors = Composition(4), unit(1, 7, 4)
    members = torch.eye(2, dtype=torch.bool)[[0, 1, 0, 1, 0, 1, 0]][None]
    alone = torch.tensor([[True] * 6 + [False]])
    known = torch.tensor([[True, True, False, False, True, True, False]])
    assert reference_rounds(members, alone, known) == [slice(0, 2), slice(4, 6)]
    scale = torch.tensor(5.0)
    loss = episode_loss(g, vectors, members, alone, scale, 2, known)
    two = [0, 1, 4, 5]
    everything = torch.ones(1, 4, dtype=torch.bool)
    alike = episode_loss(g, vectors[:, two], members[:, two], everything, scale, 2, everything)
    torch.testing.assert_close(loss, alike)
