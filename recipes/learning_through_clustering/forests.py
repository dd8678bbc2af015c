"""Maximum spanning forests as a layer: gradients through a clustering, and a loss for it.

Stewart, Bach, Llinares-López, Berthet, "Differentiable Clustering with Perturbed Spanning Forests"
(NeurIPS 2023). Any model that gives similarities can be trained.

A similarity matrix is read as (S + S^T) / 2. With constraints the forest is that of Kruskal's
algorithm with the two changes of section 9.1: pairs that must be linked come first, and no edge
joins trees that hold a pair that must not be linked. That is exact with all labels, or with at most
one labelled point per class, and a heuristic otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from diarize.clustering.spanning import Forest, prim, prune, spanning_forest, symmetric_noise

EPSILON = 0.1  # temperature [paper, section 4.2]
SAMPLES = 100  # B, draws of the noise [paper, section 4.2]


def perturbed_forest(
    similarity: Float[Tensor, "*batch n n"],
    k: int,
    *,
    must_link: Bool[Tensor, "*#batch n n"] | None = None,
    cannot_link: Bool[Tensor, "*#batch n n"] | None = None,
    epsilon: float = EPSILON,
    samples: int = SAMPLES,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "*batch n n"]:
    """The mean adjacency under noise, A*_{k, eps} (definition 6), with its Monte-Carlo gradient.

    Args:
        similarity: of all pairs; larger is closer.
        k: number of trees.
        must_link: pairs that lie in one tree.
        cannot_link: pairs that do not.
        epsilon: size of the noise.
        samples: draws of it.
        generator: of the noise.

    Raises:
        ValueError: as `max_spanning_forest`.
    """
    noise = symmetric_noise(similarity, samples, generator)
    return _smoothed(similarity, noise, epsilon, k, must_link, cannot_link, False)


def perturbed_connectivity(
    similarity: Float[Tensor, "*batch n n"],
    k: int,
    *,
    must_link: Bool[Tensor, "*#batch n n"] | None = None,
    cannot_link: Bool[Tensor, "*#batch n n"] | None = None,
    epsilon: float = EPSILON,
    samples: int = SAMPLES,
    generator: torch.Generator | None = None,
) -> Float[Tensor, "*batch n n"]:
    """How often two points share a tree under noise, M*_{k, eps}; arguments as `perturbed_forest`.

    Any loss can be put on it, such as the squared distance from a known connectivity.
    """
    noise = symmetric_noise(similarity, samples, generator)
    return _smoothed(similarity, noise, epsilon, k, must_link, cannot_link, True)


def adjacency(forest: Forest) -> Float[Tensor, "*batch n n"]:
    """A: 1 where an edge is, symmetric."""
    n = forest.labels.shape[-1]
    i, j = forest.edges.unbind(dim=-1)
    flat = torch.zeros(*forest.labels.shape[:-1], n * n, device=forest.labels.device)
    both = flat.scatter(-1, i * n + j, 1.0).scatter(-1, j * n + i, 1.0)
    return both.reshape(*forest.labels.shape, n)


class _Smoothed(torch.autograd.Function):
    """E[y(S + eps Z)] of a piecewise constant y; its gradient is E[<G, y> Z] / eps."""

    @staticmethod
    def forward(
        ctx: Any,
        similarity: Tensor,
        noise: Tensor,
        epsilon: float,
        k: int,
        must_link: Tensor | None,
        cannot_link: Tensor | None,
        connectivity: bool,
    ) -> Tensor:
        forests = max_spanning_forest(
            similarity + epsilon * noise, k, must_link=must_link, cannot_link=cannot_link
        )
        found = forests.connectivity if connectivity else adjacency(forests)
        ctx.save_for_backward(found, noise)
        ctx.epsilon = epsilon
        return found.to(similarity.dtype).mean(dim=0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        found, noise = ctx.saved_tensors
        (gradient,) = gradients
        along = (found.to(gradient.dtype) * gradient).sum(dim=(-2, -1), keepdim=True)
        # A draw for i < j moves both S_ij and S_ji by eps, and the forest sees their mean.
        back = (along * noise).mean(dim=0) / (2 * ctx.epsilon)
        return back, None, None, None, None, None, None


_smoothed: Callable[..., Tensor] = _Smoothed.apply


class PartialFenchelYoungLoss(nn.Module):
    """L_{FY, eps}(S; M_Omega) = F_eps(S) - F_eps(S; M_Omega) (proposition 1, 3).

    How much similarity a clustering into k trees gains by ignoring what is known of it. The same
    noise is in both terms, so the value is not negative wherever the constrained forest exists
    and its heuristic is exact; its gradient is A*_{k, eps}(S) - A*_{k, eps}(S; M_Omega).

    Args:
        k: number of trees.
        epsilon: size of the noise.
        samples: draws of it.
    """

    def __init__(self, k: int, *, epsilon: float = EPSILON, samples: int = SAMPLES) -> None:
        super().__init__()
        self.k, self.epsilon, self.samples = k, epsilon, samples

    def forward(
        self,
        similarity: Float[Tensor, "*batch n n"],
        must_link: Bool[Tensor, "*#batch n n"],
        cannot_link: Bool[Tensor, "*#batch n n"],
        generator: torch.Generator | None = None,
    ) -> Float[Tensor, ""]:
        """The mean loss over the batch.

        Args:
            similarity: such as minus the squared distances of embeddings; larger is closer.
            must_link: pairs known to be in one cluster (`links_from_labels`).
            cannot_link: pairs known not to be.
            generator: of the noise.

        Raises:
            ValueError: as `max_spanning_forest`.
        """
        noise = symmetric_noise(similarity.detach(), self.samples, generator)
        symmetric = (similarity + similarity.mT) / 2
        moved = torch.add(symmetric.detach(), noise, alpha=self.epsilon)
        free = forest_of_symmetric(moved, self.k)
        bound = forest_of_symmetric(moved, self.k, must_link, cannot_link)
        # The gradient of a maximum is its maximiser: forests are constants here.
        return (self._value(symmetric, noise, free) - self._value(symmetric, noise, bound)).mean()

    def _value(
        self, symmetric: Tensor, noise: Tensor, forests: Forest
    ) -> Float[Tensor, "samples *batch"]:
        """<A, S + eps Z> of each draw."""
        n = symmetric.shape[-1]
        i, j = forests.edges.unbind(dim=-1)  # (samples, *batch, m)
        places = (i * n + j).movedim(0, -2)  # (*batch, samples, m)
        own = symmetric.flatten(-2).gather(-1, places.flatten(-2)).reshape(places.shape).sum(dim=-1)
        drawn = noise.flatten(-2).gather(-1, i * n + j).sum(dim=-1)
        return own.movedim(-1, 0) + self.epsilon * drawn


def links_from_labels(
    labels: Int64[Tensor, "*batch n"],
) -> tuple[Bool[Tensor, "*batch n n"], Bool[Tensor, "*batch n n"]]:
    """M_Omega of points of which some have labels (definition 4).

    Args:
        labels: a negative one is unknown.

    Returns:
        Pairs that must be linked, and pairs that must not.
    """
    known = (labels >= 0)[..., :, None] & (labels >= 0)[..., None, :]
    same = labels[..., :, None] == labels[..., None, :]
    return known & same, known & ~same


@torch.no_grad()
def max_spanning_forest(
    similarity: Float[Tensor, "*batch n n"],
    k: int,
    *,
    must_link: Bool[Tensor, "*#batch n n"] | None = None,
    cannot_link: Bool[Tensor, "*#batch n n"] | None = None,
) -> Forest:
    """Find the k-spanning forest of largest similarity, A*_k (definitions 2 and 5).

    Args:
        similarity: of all pairs; larger is closer.
        k: number of trees, 1 to n.
        must_link: pairs that lie in one tree.
        cannot_link: pairs that do not.

    Raises:
        ValueError: k is out of range, or no forest of k trees keeps to the constraints; the message
            names a pair or says how many trees there are at least.
    """
    return forest_of_symmetric((similarity + similarity.mT) / 2, k, must_link, cannot_link)


@torch.no_grad()
def forest_of_symmetric(
    symmetric: Float[Tensor, "*batch n n"],
    k: int,
    must_link: Bool[Tensor, "*#batch n n"] | None = None,
    cannot_link: Bool[Tensor, "*#batch n n"] | None = None,
) -> Forest:
    """Do what `max_spanning_forest` does for similarities that are symmetric already."""
    *batch, n, _ = symmetric.shape
    if not 1 <= k <= n:
        raise ValueError(f"a forest over {n} points has 1 to {n} trees, not {k}")
    if must_link is None and cannot_link is None:
        forest = spanning_forest(symmetric.reshape(-1, n, n), k)
    else:
        must, cannot = (
            torch.zeros(n, n, dtype=torch.bool, device=symmetric.device)
            if links is None
            else links | links.mT
            for links in (must_link, cannot_link)
        )
        must = must & ~torch.eye(n, dtype=torch.bool, device=symmetric.device)
        if _from_labels(must, cannot):
            forest = _labelled(symmetric, must, cannot, k)
        else:
            forest = _kruskal(
                symmetric.reshape(-1, n, n),
                must.expand(*batch, n, n).reshape(-1, n, n),
                cannot.expand(*batch, n, n).reshape(-1, n, n),
                k,
            )
    return Forest(forest.edges.reshape(*batch, n - k, 2), forest.labels.reshape(*batch, n))


def _from_labels(must: Bool[Tensor, "*batch n n"], cannot: Bool[Tensor, "*batch n n"]) -> bool:
    """Whether the links say of some points to which of several classes they belong."""
    itself = torch.eye(must.shape[-1], dtype=torch.bool, device=must.device)
    alike = (must | itself).float()
    known = cannot.any(dim=-1)
    decided = known[..., :, None] & known[..., None, :]
    return bool(
        torch.equal(alike @ alike > 0, alike > 0)
        and ((alike > 0) == ~cannot)[decided].all()
        and not (alike.bool() & (known[..., :, None] != known[..., None, :])).any()
    )


def _labelled(
    similarity: Float[Tensor, "*batch n n"],
    must: Bool[Tensor, "*#batch n n"],
    cannot: Bool[Tensor, "*#batch n n"],
    k: int,
) -> Forest:
    """What `_kruskal` finds, where the constraints come from labels.

    No tree may hold points of two classes. That is so if the classes are one tree to begin with,
    by edges between them that are taken first and do not count: what would join two classes is
    then a cycle. They are cut in the end, so Prim's algorithm does it all.
    """
    *batch, n, _ = similarity.shape
    leads = ~must.tril(diagonal=-1).any(dim=-1)  # the first of those that must be linked
    # The first point of a class stands for it; the first of all classes is joined to the others.
    first = leads & cannot.any(dim=-1)
    centre = first & (first.cumsum(dim=-1) == 1)
    between = first[..., :, None] & centre[..., None, :] & cannot
    before = 2 * torch.stack(torch.aminmax(similarity)).abs().amax() + 1
    bias = before * must + 2 * before * (between | between.mT)
    joined, parents, weights = prim((similarity + bias).reshape(-1, n, n))
    free = weights > 1.5 * before
    forest = prune(joined, parents, weights.masked_fill(free, -torch.inf), k)
    classes = int(first.sum(dim=-1).max())
    if classes > k:
        raise ValueError(f"no forest of {k} trees keeps to the constraints: it has {classes}")
    if k > int(leads.sum(dim=-1).min()):
        _check(forest.labels, must.expand(*batch, n, n).reshape(-1, n, n))
    return forest


def _kruskal(
    similarity: Float[Tensor, "b n n"],
    must: Bool[Tensor, "b n n"],
    cannot: Bool[Tensor, "b n n"],
    k: int,
) -> Forest:
    """Join the two nearest trees that may be joined, n - k times.

    Between two trees only the nearest pair of points matters, so that rows of a joined tree are
    the larger of the two; where either may not be joined with a third, the two together may not.
    A tree's best partner stays its best unless it was one of the two that were joined.
    """
    b, n, _ = similarity.shape
    device = similarity.device
    every = torch.arange(b, device=device)
    first = 2 * similarity.abs().amax(dim=(1, 2), keepdim=True) + 1  # must-links before all others
    itself = torch.eye(n, dtype=torch.bool, device=device)
    nearness = (similarity + first * must).masked_fill(cannot | itself, -torch.inf)
    pairs = torch.arange(n * n, device=device).reshape(n, n).repeat(b, 1, 1)  # of points, i * n + j
    best, partner = nearness.max(dim=2)
    labels = torch.arange(n, device=device).repeat(b, 1)
    edges = torch.empty(b, n - k, dtype=torch.int64, device=device)
    for step in range(n - k):
        near, one = best.max(dim=1)
        if bool(torch.isneginf(near).any()):
            raise ValueError(f"no forest of {k} trees keeps to the constraints: it has {n - step}")
        other = partner[every, one]
        edges[:, step] = pairs[every, one, other]
        labels = torch.where(labels == other[:, None], one[:, None], labels)
        row, row_pairs = nearness[every, one], pairs[every, one]
        other_row = nearness[every, other]
        together = torch.maximum(row, other_row)
        together[torch.isneginf(row) | torch.isneginf(other_row)] = -torch.inf
        row_pairs = torch.where(row >= other_row, row_pairs, pairs[every, other])
        nearness[every, other], nearness[every, :, other] = -torch.inf, -torch.inf
        nearness[every, one], nearness[every, :, one] = together, together
        pairs[every, one], pairs[every, :, one] = row_pairs, row_pairs
        stale = (partner == one[:, None]) | (partner == other[:, None])
        stale[every, one], stale[every, other] = True, True
        graphs, trees = stale.nonzero(as_tuple=True)
        best[graphs, trees], partner[graphs, trees] = nearness[graphs, trees].max(dim=1)
    _check(labels, must)
    return Forest(torch.stack([edges // n, edges % n], dim=2), labels)


def _check(labels: Int64[Tensor, "b n"], must: Bool[Tensor, "b n n"]) -> None:
    """Refuse a forest in which a pair is apart that must be linked."""
    apart = must & (labels[:, :, None] != labels[:, None, :])
    if bool(apart.any()):
        _, i, j = apart.nonzero()[0].tolist()
        raise ValueError(
            f"points {i} and {j} must be linked, but other constraints or the number of trees "
            "keep them apart"
        )
