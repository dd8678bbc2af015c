"""The loss through spanning forests, as ratios to two other ways to write it in the same run.

    python recipes/learning_through_clustering/speed.py

Forward and backward of the partial Fenchel-Young loss: a batch of 16 graphs of 64 points, 100 draws
of noise. The peers do as much with as much noise: Kruskal's algorithm with a union-find in Python,
sample by sample (and again with edges that numpy has sorted), and the loop of matrix operations
over sorted edges that section 9 of "Differentiable Clustering with Perturbed Spanning Forests"
describes, over all samples at once. The peers' forests are timed on a part of the samples, and the
time is scaled up.

Seconds are processor time of a single thread, so that a busy machine makes little difference.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from forests import PartialFenchelYoungLoss, links_from_labels
from torch import Tensor

from diarize.clustering.spanning import symmetric_noise

BATCH, POINTS, CLASSES, SAMPLES = 16, 64, 5, 100
GROWTH = (32, 64, 128, 256, 512)
LIMITS = {("all", "union-find"): 20, ("half", "union-find"): 5, ("all", "matrices"): 10}


def sorted_edges(similarity: np.ndarray, must: np.ndarray) -> list[tuple[float, int, int]]:
    """All edges, must-links first, the most similar first; sorted as Python sorts."""
    n = len(similarity)
    weights = (similarity + 1e3 * must).tolist()
    return sorted(((weights[i][j], i, j) for i in range(n) for j in range(i)), reverse=True)


def numpy_edges(similarity: np.ndarray, must: np.ndarray) -> Iterator[tuple[float, int, int]]:
    """The same, sorted by numpy."""
    i, j = np.tril_indices(len(similarity), -1)
    weights = (similarity + 1e3 * must)[i, j]
    order = np.argsort(-weights)
    return zip(weights[order].tolist(), i[order].tolist(), j[order].tolist(), strict=True)


def union_find(
    edges: Iterable[tuple[float, int, int]], n: int, k: int, cannot: np.ndarray
) -> np.ndarray:
    """Kruskal's algorithm as it is taught, with sets of what each tree holds."""
    parent = list(range(n))
    forbidden = [set(np.flatnonzero(row).tolist()) for row in cannot]
    held = [{p} for p in range(n)]

    def root(p: int) -> int:
        while parent[p] != p:
            parent[p] = parent[parent[p]]
            p = parent[p]
        return p

    adjacency, left = np.zeros((n, n), np.float32), n - k
    for _, i, j in edges:
        a, b = root(i), root(j)
        if a == b or not forbidden[a].isdisjoint(held[b]):
            continue
        parent[b] = a
        held[a] |= held[b]
        forbidden[a] |= forbidden[b]
        adjacency[i, j] = adjacency[j, i] = 1
        left -= 1
        if not left:
            break
    return adjacency


def matrices(similarity: Tensor, k: int, cannot: Tensor, must: Tensor) -> Tensor:
    """Section 9: one loop over sorted edges, each step made of matrix operations."""
    b, n, _ = similarity.shape
    i, j = torch.triu_indices(n, n, 1)
    order = (similarity + 1e3 * must)[:, i, j].argsort(dim=1, descending=True)
    every = torch.arange(b)
    together = torch.eye(n).repeat(b, 1, 1)
    adjacency = torch.zeros(b, n, n)
    left = torch.full((b,), n - k)
    banned = cannot.float()
    for step in range(order.shape[1]):
        one, other = i[order[:, step]], j[order[:, step]]
        mine, theirs = together[every, one], together[every, other]
        clash = torch.einsum("bi,bij,bj->b", mine, banned, theirs) > 0
        joined = (left > 0) & ~clash & (together[every, one, other] == 0)
        union = (mine + theirs) * joined[:, None]
        together = torch.maximum(together, union[:, :, None] * union[:, None, :])
        adjacency[every, one, other] += joined
        adjacency[every, other, one] += joined
        left = left - joined.long()
        if not bool((left > 0).any()):
            break
    return adjacency


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The least processor time of several tries."""
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        work()
        times.append(time.process_time() - begin)
    return min(times)


def embedded(batch: int, n: int) -> tuple[Tensor, Tensor]:
    """Points of `CLASSES` classes that lie into one another, and their labels."""
    generator = torch.Generator().manual_seed(0)
    labels = (torch.arange(n) % CLASSES).repeat(batch, 1)
    centres = torch.randn(CLASSES, 16, generator=generator)
    return centres[labels] + torch.randn(batch, n, 16, generator=generator), labels


def step(points: Tensor, must: Tensor, cannot: Tensor) -> None:
    """Forward and backward of the loss."""
    leaf = points.requires_grad_(True)
    loss = PartialFenchelYoungLoss(CLASSES, samples=SAMPLES)
    loss(-(torch.cdist(leaf, leaf) ** 2), must, cannot).backward()


class Samples(NamedTuple):
    """The perturbed similarities of all graphs, and what is known of each."""

    similarity: Tensor  # (BATCH * SAMPLES, POINTS, POINTS)
    must: Tensor
    cannot: Tensor


def perturbed(points: Tensor, must: Tensor, cannot: Tensor) -> Samples:
    """Draw the noise, as `step` does."""
    noise = symmetric_noise(torch.zeros(BATCH, POINTS, POINTS), SAMPLES)
    moved = -(torch.cdist(points, points).detach() ** 2) + 0.1 * noise
    owner = torch.arange(BATCH).repeat(SAMPLES)
    return Samples(moved.flatten(0, 1), must[owner], cannot[owner])


def by_union_find(samples: Samples, edges_of: Callable[..., Any]) -> None:
    """The free and the bound forest of every sample."""
    nothing = np.zeros((POINTS, POINTS), bool)
    for row, must, cannot in zip(*(part.numpy() for part in samples), strict=True):
        union_find(edges_of(row, nothing), POINTS, CLASSES, nothing)
        union_find(edges_of(row, must), POINTS, CLASSES, cannot)


def by_matrices(samples: Samples) -> None:
    """The same by matrices."""
    nothing = torch.zeros_like(samples.must)
    matrices(samples.similarity, CLASSES, nothing, nothing)
    matrices(samples.similarity, CLASSES, samples.cannot, samples.must)


PEERS: dict[str, tuple[Callable[[Samples], None], int]] = {  # and how many samples are timed
    "union-find": (lambda samples: by_union_find(samples, sorted_edges), 64),
    "numpy's sorting": (lambda samples: by_union_find(samples, numpy_edges), 64),
    "matrices": (by_matrices, 160),
}


def compare(points: Tensor, name: str, labels: Tensor) -> None:
    """Print the ratios for some labels, negative where they are unknown."""
    must, cannot = links_from_labels(labels)
    ours = seconds(lambda: step(points, must, cannot))
    drawing = seconds(lambda: perturbed(points, must, cannot))
    samples = perturbed(points, must, cannot)
    for peer, (work, count) in PEERS.items():
        part = Samples(*(tensor[:count] for tensor in samples))
        clustering = seconds(functools.partial(work, part), 1)
        theirs = drawing + clustering * BATCH * SAMPLES / count
        limit = LIMITS.get((name, peer), "")
        print(f"{name:8}{ours:8.3f}  {peer:16}{theirs:8.2f}{theirs / ours:8.1f}{limit:>8}")


def grow(n: int) -> None:
    """Print the time for one graph of n points."""
    points, labels = embedded(1, n)
    half = torch.where(torch.arange(n) % 2 == 0, labels, -1)
    costs = [
        seconds(functools.partial(step, points, *links_from_labels(known)), 1)
        for known in (labels, half)
    ]
    print(f"{n:8}{costs[0]:10.3f}{costs[1]:10.3f}")


def main() -> None:
    """Print the ratios, then how time grows with the points."""
    torch.set_num_threads(1)
    points, labels = embedded(BATCH, POINTS)
    drawn = torch.rand(BATCH, POINTS, generator=torch.Generator().manual_seed(1))
    print(f"{BATCH} graphs of {POINTS} points, {SAMPLES} draws, forward and backward, seconds")
    print(f"{'labels':8}{'ours':>8}  {'peer':16}{'seconds':>8}{'ratio':>8}{'limit':>8}")
    compare(points, "all", labels)
    compare(points, "half", torch.where(drawn < 0.5, labels, -1))
    print(f"\n{'points':>8}{'all':>10}{'half':>10}   one graph, {SAMPLES} draws, seconds")
    for n in GROWTH:
        grow(n)


if __name__ == "__main__":
    main()
