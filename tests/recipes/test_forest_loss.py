"""The spanning forest as a teacher of f and g."""

from __future__ import annotations

import torch
from forest_loss import forest_loss

from diarize.embedding.model import Composition

SETS = [[0], [1], [2], [0], [1], [2], [0, 1], [0, 2], [1, 2], [0, 1, 2], [2]]
N_ALONE, N_STEADY = 6, 10  # a triple, and a change of speakers, come last


def episode(known=None):
    """Members, alone, steady and known, for one episode of three voices."""
    members = torch.zeros(1, len(SETS), 3, dtype=torch.bool)
    for row, voices in enumerate(SETS):
        members[0, row, voices] = True
    index = torch.arange(len(SETS))[None]
    everything = torch.ones_like(index, dtype=torch.bool)
    return members, index < N_ALONE, index < N_STEADY, everything if known is None else known


def at_their_places(g):
    """Three voices far apart, and every window where its set lies."""
    voices = torch.eye(8)[:3]
    rows = []
    for chosen in SETS:
        first, *others = [voices[v] for v in chosen]
        rows.append(first if not others else g(first[None], others[0][None])[0])
    return torch.stack(rows)[None].detach()


def loss_of(g, vectors, *, largest=3, known=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return forest_loss(g, vectors, *episode(known), largest, generator)


def test_windows_at_their_places_cost_nothing_and_wrong_ones_much():
    torch.manual_seed(0)
    g = Composition(8)
    vectors = at_their_places(g)
    assert float(loss_of(g, vectors).detach()) < 0.02
    confused = vectors[:, [0, 1, 2, 1, 2, 0, 7, 8, 6, 9, 10]]
    assert float(loss_of(g, confused).detach()) > 0.3


def test_triples_and_changes_of_speakers_are_left_out():
    torch.manual_seed(0)
    g = Composition(8)
    vectors = at_their_places(g).requires_grad_()
    loss_of(g, vectors + 0.3 * torch.randn(vectors.shape)).backward()
    moved = vectors.grad.abs().sum(dim=-1)[0] > 0
    assert not moved[N_STEADY - 1 :].any()
    assert moved[3:N_ALONE].any()


def test_both_f_and_g_learn_from_it():
    torch.manual_seed(0)
    g = Composition(8)
    vectors = torch.nn.Parameter(torch.randn(1, len(SETS), 8))
    optimiser = torch.optim.Adam([vectors, *g.parameters()], lr=0.05)
    losses = []
    for seed in range(60):
        loss = loss_of(g, torch.nn.functional.normalize(vectors, dim=-1), seed=seed)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in g.parameters())
    assert losses[-1] < 0.2 * losses[0]


def test_a_window_that_is_not_known_may_hang_anywhere():
    torch.manual_seed(0)
    g = Composition(8)
    known = torch.tensor([[row < 3 for row in range(len(SETS))]])
    vectors = torch.nn.functional.normalize(torch.randn(1, len(SETS), 8), dim=-1)
    # With no labels beyond the references, the forest that is bound is the best one that keeps
    # these apart; labels can only make it worse.
    partly = float(loss_of(g, vectors, known=known).detach())
    assert -1e-6 <= partly <= float(loss_of(g, vectors).detach()) + 1e-6
