"""What keeps online clustering from putting everything into one cluster: six losses, one contract.

A loss is given the squared distances of a batch's encodings from the centroids, and answers how
badly they fit: minus the log likelihood under the chosen clusters, D / (2 sigma), as in (5), and
whatever the method adds. Several views of the same rows choose together and so share a cluster;
the paper has one view. Gradients reach encodings and centroids through the distances alone.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from jaxtyping import Float, Int64
from torch import Tensor
from torch.nn.functional import one_hot

from diarize.clustering.ca import assign

Distances = Float[Tensor, "views n k"]
Prior = Float[Tensor, " k"]
Regulariser = Callable[[Distances, float, Prior, torch.Generator], Tensor]
"""(squared distances, sigma, prior over clusters, noise) -> mean loss of a row."""

SINKHORN_ROUNDS = 20
"""After so many scalings of rows and columns the column sums are right to a per mille."""

TEMPERATURE = 0.5
"""Of concrete k-means: low enough that most draws are nearly one cluster."""


def combination(
    distances: Distances, sigma: float, prior: Prior, generator: torch.Generator
) -> Float[Tensor, ""]:
    """Combination assignment: greedy hard labels that resist full clusters (Algorithm 1)."""
    shared = distances.detach().mean(dim=0).cpu().numpy()
    labels = torch.from_numpy(assign(shared, sigma, prior.cpu().numpy()))
    return _fit(distances, labels.to(distances.device), sigma)


def sinkhorn_knopp(
    distances: Distances, sigma: float, prior: Prior, generator: torch.Generator
) -> Float[Tensor, ""]:
    """Sinkhorn-Knopp: the likeliest cluster in a plan whose column sums are the prior (Caron)."""
    plan = transport(distances.detach().mean(dim=0), sigma, prior)
    return _fit(distances, plan.argmax(dim=1), sigma)


def marginal_entropy(
    distances: Distances, sigma: float, prior: Prior, generator: torch.Generator
) -> Float[Tensor, ""]:
    """Nearest centroids, and the divergence of the mean soft assignment from the prior.

    For equal clusters that is log k less the entropy which the method maximises (Li et al.).
    """
    shares = memberships(distances.mean(dim=0), sigma).mean(dim=0)
    return _nearest(distances, sigma) + (shares * (shares / prior).log()).sum()


def sum_of_squares(
    distances: Distances, sigma: float, prior: Prior, generator: torch.Generator
) -> Float[Tensor, ""]:
    """Nearest centroids, and the sum of squares of the mean soft assignment (Zhong et al.).

    Squares are over k times the prior: for equal clusters, the method as it is.
    """
    shares = memberships(distances.mean(dim=0), sigma).mean(dim=0)
    return _nearest(distances, sigma) + (shares.square() / (len(prior) * prior)).sum()


def concrete_k_means(
    distances: Distances, sigma: float, prior: Prior, generator: torch.Generator
) -> Float[Tensor, ""]:
    """Distances weighted by a draw of Gumbel-softmax (Gao et al.); its autoencoder is the caller's.

    "CKM" in the paper; not compositional k-means.
    """
    shared = distances.mean(dim=0)
    uniform = torch.rand(shared.shape, generator=generator).clamp(min=1e-9).to(shared)
    gumbel = -(-uniform.log()).log()
    drawn = ((gumbel - shared / (2 * sigma)) / TEMPERATURE).softmax(dim=1)
    return (drawn * distances).sum(dim=-1).mean() / (2 * sigma)


def unregularised(
    distances: Distances, sigma: float, prior: Prior, generator: torch.Generator
) -> Float[Tensor, ""]:
    """Nearest centroids, and nothing against collapse (1)."""
    return _nearest(distances, sigma)


REGULARISERS: dict[str, Regulariser] = {
    "combination": combination,
    "sinkhorn-knopp": sinkhorn_knopp,
    "marginal-entropy": marginal_entropy,
    "sum-of-squares": sum_of_squares,
    "concrete-k-means": concrete_k_means,
    "none": unregularised,
}
"""By name."""


def memberships(distances: Float[Tensor, "n k"], sigma: float) -> Float[Tensor, "n k"]:
    """Soft assignments: probabilities of equally likely Gaussian clusters of variance sigma."""
    return (-distances / (2 * sigma)).softmax(dim=1)


def transport(distances: Float[Tensor, "n k"], sigma: float, prior: Prior) -> Float[Tensor, "n k"]:
    """Soft assignments whose mean is the prior, nearest to the likelihoods.

    Sinkhorn-Knopp in logarithms, so that nothing underflows.
    """
    n = len(distances)
    plan = -distances / (2 * sigma)
    for _ in range(SINKHORN_ROUNDS):
        plan = plan - plan.logsumexp(dim=0) + (prior * n).log()
        plan = plan - plan.logsumexp(dim=1, keepdim=True)
    return plan.exp()


def _fit(distances: Distances, labels: Int64[Tensor, " n"], sigma: float) -> Float[Tensor, ""]:
    """Mean of D / (2 sigma) at these labels, all views: the first term of (5)."""
    chosen = one_hot(labels, distances.shape[-1]).bool()
    return distances[:, chosen].mean() / (2 * sigma)


def _nearest(distances: Distances, sigma: float) -> Float[Tensor, ""]:
    return _fit(distances, distances.mean(dim=0).argmin(dim=1), sigma)
