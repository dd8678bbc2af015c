"""The maximum k-spanning forest of each of many complete graphs at once.

Conventions: a similarity matrix is read as (S + S^T) / 2, its diagonal not at all, and an edge
counts once. So <A, S> is a sum over i < j.

Without constraints the forest is Prim's tree less its k - 1 weakest edges, which is what Kruskal's
algorithm (section 9) has after n - k edges. With constraints it is Kruskal's algorithm with the two
changes of section 9.1: pairs that must be linked come first, and no edge joins trees that hold a
pair that must not be linked. That is exact with all labels, or with at most one labelled point per
class, and a heuristic otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor


@dataclass(frozen=True)
class Forest:
    """k trees over the n points of each of many graphs.

    Attributes:
        edges: the ends of the n - k edges.
        labels: the tree of each point, named by one of its points.
    """

    edges: Int64[Tensor, "*batch m 2"]
    labels: Int64[Tensor, "*batch n"]

    @property
    def adjacency(self) -> Float[Tensor, "*batch n n"]:
        """A: 1 where an edge is, symmetric."""
        n = self.labels.shape[-1]
        i, j = self.edges.unbind(dim=-1)
        flat = torch.zeros(*self.labels.shape[:-1], n * n, device=self.labels.device)
        both = flat.scatter(-1, i * n + j, 1.0).scatter(-1, j * n + i, 1.0)
        return both.reshape(*self.labels.shape, n)

    @property
    def connectivity(self) -> Bool[Tensor, "*batch n n"]:
        """M: whether two points are in one tree."""
        return self.labels[..., :, None] == self.labels[..., None, :]


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
        forest = _prune(*_prim(symmetric.reshape(-1, n, n)), k)
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


def _prim(
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


def _prune(
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
    joined, parents, weights = _prim((similarity + bias).reshape(-1, n, n))
    free = weights > 1.5 * before
    forest = _prune(joined, parents, weights.masked_fill(free, -torch.inf), k)
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
