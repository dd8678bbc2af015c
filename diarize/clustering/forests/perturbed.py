"""Spanning forests smoothed by noise, and the losses that learn through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from diarize.clustering.forests.spanning import (
    Forest,
    forest_of_symmetric,
    max_spanning_forest,
)

EPSILON = 0.1  # temperature [paper, section 4.2]
SAMPLES = 100  # B, draws of the noise [paper, section 4.2]


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
        found = forests.connectivity if connectivity else forests.adjacency
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
