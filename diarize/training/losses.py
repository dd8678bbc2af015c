"""Losses over episodes: every window should lie nearest to its own set of voices."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from diarize.embedding.model import compose_triples


@cache
def _sets(speakers: int, largest: int) -> tuple[tuple[int, ...], ...]:
    return tuple(
        members for size in range(1, largest + 1) for members in combinations(range(speakers), size)
    )


def compose_all(
    compose: nn.Module, references: Float[Tensor, "e speakers dim"], largest: int = 3
) -> Float[Tensor, "e sets dim"]:
    """Compose all sets of one, two and three of the given references, smaller sets first."""
    speakers = references.shape[1]
    composed = [references]
    if largest >= 2 and speakers >= 2:
        i, j = torch.combinations(torch.arange(speakers), 2).T
        composed.append(compose(references[:, i], references[:, j]))
    if largest >= 3 and speakers >= 3:
        i, j, k = torch.combinations(torch.arange(speakers), 3).T
        composed.append(
            compose_triples(compose, references[:, i], references[:, j], references[:, k])
        )
    return torch.cat(composed, dim=1)


def set_index(
    members: Bool[Tensor, "*batch speakers"], largest: int = 3
) -> Int64[Tensor, "*batch"]:
    """Find each row's set in the order of `compose_all`; -1 where it is not among them."""
    speakers = members.shape[-1]
    table = torch.full((2**speakers,), -1)
    for index, chosen in enumerate(_sets(speakers, largest)):
        table[sum(1 << s for s in chosen)] = index
    code = (members.long() << torch.arange(speakers, device=members.device)).sum(dim=-1)
    return table.to(members.device)[code]


def set_softmax(
    compose: nn.Module,
    references: Float[Tensor, "e speakers dim"],
    queries: Float[Tensor, "e windows dim"],
    members: Bool[Tensor, "e windows speakers"],
    scale: Tensor,
    counts: Bool[Tensor, "e windows"] | None = None,
) -> Float[Tensor, ""]:
    """Cross-entropy of the windows' sets among all sets of the episode's voices.

    Args:
        compose: g.
        references: one unit vector for each voice.
        queries: the windows, through f.
        members: which voices each window holds.
        scale: factor on the cosines.
        counts: which windows are asked; None: all.
    """
    candidates = compose_all(compose, references)
    logits = scale * torch.einsum("ewp,ecp->ewc", queries, candidates)
    target = set_index(members)
    if counts is not None:
        target = torch.where(counts, target, -1)
    return cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-1)


def episode_loss(
    compose: nn.Module,
    vectors: Float[Tensor, "e windows dim"],
    members: Bool[Tensor, "e windows speakers"],
    alone: Bool[Tensor, "e windows"],
    scale: Tensor,
) -> Float[Tensor, ""]:
    """Softmax over sets against references that are windows themselves.

    Each of the `singles` windows of every voice serves once as the reference, and all others are
    asked; the result is the mean over these turns.
    """
    speakers = members.shape[-1]
    # Windows of one voice alone come first, voice by voice, round after round.
    rounds = int(alone[0].sum()) // speakers
    losses = []
    for turn in range(rounds):
        reference = slice(turn * speakers, (turn + 1) * speakers)
        asked = torch.ones_like(alone)
        asked[:, reference] = False
        losses.append(set_softmax(compose, vectors[:, reference], vectors, members, scale, asked))
    return torch.stack(losses).mean()


def teacher_loss(
    vectors: Float[Tensor, "e windows dim"],
    members: Bool[Tensor, "e windows speakers"],
    targets: Float[Tensor, "e speakers dim"],
) -> Float[Tensor, ""]:
    """One minus the cosine to the teacher's vector, over the windows of one voice."""
    one = members.sum(dim=-1) == 1
    wanted = torch.einsum("ews,esp->ewp", members.to(targets.dtype), targets)
    return (1 - (vectors * wanted).sum(dim=-1))[one].mean()
