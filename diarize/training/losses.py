"""Losses over episodes: every window should lie nearest to its own set of voices."""

from __future__ import annotations

from functools import cache

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from diarize.embedding.model import compose_triples
from diarize.sets import enumerate_sets


@cache
def _places(speakers: int, largest: int) -> Int64[Tensor, " codes"]:
    """Place of each set, named by its members' bits, in the order of `compose_all`; -1: none."""
    places = torch.full((2**speakers,), -1)
    for place, members in enumerate(enumerate_sets(speakers, largest)):
        places[sum(1 << int(s) for s in members.nonzero()[0])] = place
    return places


def compose_all(
    compose: nn.Module, references: Float[Tensor, "e speakers dim"], largest: int
) -> Float[Tensor, "e sets dim"]:
    """Compose all sets of 1 to `largest` (at most 3) of the references, smaller sets first."""
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


def set_index(members: Bool[Tensor, "*batch speakers"], largest: int) -> Int64[Tensor, "*batch"]:
    """Find each row's set in the order of `compose_all`; -1 where it is not among them."""
    speakers = members.shape[-1]
    code = (members.long() << torch.arange(speakers, device=members.device)).sum(dim=-1)
    return _places(speakers, largest).to(members.device)[code]


def set_softmax(
    compose: nn.Module,
    references: Float[Tensor, "e speakers dim"],
    queries: Float[Tensor, "e windows dim"],
    members: Bool[Tensor, "e windows speakers"],
    scale: Tensor,
    largest: int,
    counts: Bool[Tensor, "e windows"],
) -> Float[Tensor, ""]:
    """Cross-entropy of the windows' sets among all sets of the episode's voices.

    Args:
        compose: g.
        references: one unit vector for each voice.
        queries: the windows, through f.
        members: which voices each window holds.
        scale: factor on the cosines.
        largest: most voices in a set.
        counts: which windows are asked.
    """
    candidates = compose_all(compose, references, largest)
    logits = scale * torch.einsum("ewp,ecp->ewc", queries, candidates)
    target = set_index(members, largest)
    target = torch.where(counts, target, -1)
    total = cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=-1, reduction="sum")
    return total / (target >= 0).sum().clamp(min=1)  # of no windows: 0


def reference_rounds(
    members: Bool[Tensor, "e windows speakers"],
    alone: Bool[Tensor, "e windows"],
    known: Bool[Tensor, "e windows"],
) -> list[slice]:
    """Where the windows lie that can stand for each of the voices, one for each, in order.

    Windows of one voice alone come first, voice by voice, round after round; what is known of one
    of a round is known of all.
    """
    speakers = members.shape[-1]
    starts = range(0, int(alone[0].sum()), speakers)
    return [slice(start, start + speakers) for start in starts if known[0, start]]


def episode_loss(
    compose: nn.Module,
    vectors: Float[Tensor, "e windows dim"],
    members: Bool[Tensor, "e windows speakers"],
    alone: Bool[Tensor, "e windows"],
    scale: Tensor,
    largest: int,
    known: Bool[Tensor, "e windows"],
) -> Float[Tensor, ""]:
    """Softmax over sets against references that are windows themselves.

    Each of the `singles` windows of every voice serves once as the reference, and all others are
    asked whose set is known; the result is the mean over these turns.
    """
    losses = []
    for reference in reference_rounds(members, alone, known):
        asked = known.clone()
        asked[:, reference] = False
        references = vectors[:, reference]
        losses.append(set_softmax(compose, references, vectors, members, scale, largest, asked))
    return torch.stack(losses).mean()
