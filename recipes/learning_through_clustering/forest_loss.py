"""Clusters as a teacher of f and g: the perturbed spanning forest over an episode's windows."""

from __future__ import annotations

import torch
from forests import PartialFenchelYoungLoss, links_from_labels
from jaxtyping import Bool, Float
from torch import Tensor, nn

from diarize.training.losses import compose_all, reference_rounds, set_index

LARGEST = 2  # voices in a set at most: with triples there would be three times as many trees
SAMPLES = 50  # of the noise; the paper's 100 in each of its batches, which is one episode here


def forest_loss(
    compose: nn.Module,
    vectors: Float[Tensor, "e windows dim"],
    members: Bool[Tensor, "e windows speakers"],
    alone: Bool[Tensor, "e windows"],
    steady: Bool[Tensor, "e windows"],
    known: Bool[Tensor, "e windows"],
    largest: int,
    generator: torch.Generator | None = None,
) -> Float[Tensor, ""]:
    """Partial Fenchel-Young loss of the windows' clustering into sets of one or two voices.

    One window of each voice, and what g makes of each two of them, are points of as many clusters;
    the other windows join them. So a forest of as many trees as there are sets is wanted, in which
    each window hangs on the tree of its set; where its set is not known, on any.

    Args:
        compose: g.
        vectors: the windows, through f.
        members: which voices each window holds.
        alone: which windows hold one voice throughout.
        steady: which windows hold the same voices throughout, equally many in each episode.
        known: of which windows the set is known.
        largest: most voices in a set; no more than two are looked at.
        generator: of the noise.

    Returns:
        The loss for each window that is hung, in units of squared distance.
    """
    reference = reference_rounds(members, alone, known)[0]
    largest = min(largest, LARGEST)
    places = compose_all(compose, vectors[:, reference], largest)
    sets = set_index(members, largest)
    hung = steady & (members.sum(dim=-1) <= largest)
    hung[:, reference] = False
    episodes, k = len(vectors), places.shape[1]
    own = torch.where(known, sets, -1)[hung].reshape(episodes, -1)
    points = torch.cat([places, vectors[hung].reshape(episodes, -1, vectors.shape[-1])], dim=1)
    labels = torch.cat([torch.arange(k, device=own.device).expand(episodes, k), own], dim=1)
    similarity = 2 * points @ points.mT - 2  # minus the squared distance of unit vectors
    must, cannot = links_from_labels(labels)
    loss = PartialFenchelYoungLoss(k, samples=SAMPLES)
    return loss(similarity, must, cannot, generator) / own.shape[1]
