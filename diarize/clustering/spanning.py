"""Maximum k-spanning forests of many complete graphs at once, and what noise makes of them.

Conventions: a similarity matrix is symmetric, its diagonal is not read, and an edge counts once. A
forest is Prim's tree less its k - 1 weakest edges, which is what Kruskal's algorithm (section 9)
has after n - k edges.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor


@dataclass(frozen=True)
class Forest:
    """k trees over the n points of each of many graphs."""

    edges: Int64[Tensor, "*batch m 2"]  # the ends of the n - k edges
    labels: Int64[Tensor, "*batch n"]  # the tree of each point, named by one of its points

    @property
    def connectivity(self) -> Bool[Tensor, "*batch n n"]:
        """M: whether two points are in one tree."""
        return self.labels[..., :, None] == self.labels[..., None, :]


@torch.no_grad()
def spanning_forest(symmetric: Float[Tensor, "b n n"], k: int) -> Forest:
    """Find the k-spanning forest of largest similarity, A*_k (definition 2)."""
    return prune(*prim(symmetric), k)


@torch.no_grad()
def perturbed_connectivity(
    similarity: Float[Tensor, "n n"],
    k: int,
    epsilon: float,
    samples: int,
    generator: torch.Generator,
) -> Float[Tensor, "n n"]:
    """How often two points share one of k trees under noise, M*_{k, eps} (definition 6)."""
    symmetric = (similarity + similarity.mT) / 2
    noisy = symmetric + epsilon * symmetric_noise(symmetric, samples, generator)
    return spanning_forest(noisy, k).connectivity.to(similarity.dtype).mean(dim=0)


def symmetric_noise(
    like: Float[Tensor, "*batch n n"], samples: int, generator: torch.Generator | None = None
) -> Float[Tensor, "samples *batch n n"]:
    """Draw Z: standard normal for each pair i < j, symmetric, with a zero diagonal."""
    n, device = like.shape[-1], like.device
    i, j = torch.triu_indices(n, n, 1, device=device)
    # A column for each pair, and one of zeros for the diagonal.
    place = torch.full((n, n), len(i), device=device)
    place[i, j] = place[j, i] = torch.arange(len(i), device=device)
    drawn = torch.randn(
        samples, *like.shape[:-2], len(i) + 1, generator=generator, device=device, dtype=like.dtype
    )
    drawn[..., -1] = 0
    noise = drawn.gather(-1, place.flatten().expand(*drawn.shape[:-1], -1))
    return noise.reshape(*noise.shape[:-1], n, n)


def prim(
    similarity: Float[Tensor, "b n n"],
) -> tuple[Int64[Tensor, "b m"], Int64[Tensor, "b m"], Float[Tensor, "b m"]]:
    """Maximum spanning trees: points in the order in which they join, whom they join, how near."""
    b, n, _ = similarity.shape
    device, never = similarity.device, -torch.inf
    every = torch.arange(b, device=device)
    joined = torch.empty(b, n - 1, dtype=torch.int64, device=device)
    parents, weights = torch.empty_like(joined), similarity.new_empty(b, n - 1)
    rows = similarity.reshape(b * n, n)
    # Added to similarities: what is not asked for (points inside, points outside) is never largest.
    outside, inside = similarity.new_zeros(b, n), similarity.new_full((b, n), never)
    outside[:, 0], inside[:, 0] = never, 0
    nearest = similarity[:, 0] + outside  # of each point outside, to any inside
    for step in range(n - 1):
        point = nearest.argmax(dim=1)
        row = rows.index_select(0, every * n + point)
        parent = (row + inside).argmax(dim=1)
        joined[:, step], parents[:, step] = point, parent
        weights[:, step] = row[every, parent]
        outside[every, point], inside[every, point] = never, 0
        torch.maximum(nearest, row, out=nearest)
        nearest += outside
    return joined, parents, weights


def prune(
    joined: Int64[Tensor, "b m"],
    parents: Int64[Tensor, "b m"],
    weights: Float[Tensor, "b m"],
    k: int,
) -> Forest:
    """Cut the k - 1 weakest edges of spanning trees."""
    b, m = joined.shape
    strongest = weights.topk(m + 1 - k, dim=1).indices
    edges = torch.stack([joined.gather(1, strongest), parents.gather(1, strongest)], dim=2)
    kept = torch.zeros(b, m, dtype=torch.bool, device=joined.device).scatter_(1, strongest, True)
    labels = torch.zeros(b, m + 1, dtype=torch.int64, device=joined.device)
    for step in range(m):  # a parent joined before its child
        point, parent = joined[:, step, None], parents[:, step, None]
        label = torch.where(kept[:, step, None], labels.gather(1, parent), point)
        labels.scatter_(1, point, label)
    return Forest(edges, labels)
