"""Gradients through spanning forests, and the loss of partial labels."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.integrate import quad
from scipy.stats import norm
from torch import Tensor

from diarize.clustering.forests import (
    PartialFenchelYoungLoss,
    links_from_labels,
    max_spanning_forest,
    perturbed_connectivity,
    perturbed_forest,
)
from diarize.clustering.forests.perturbed import symmetric_noise


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(7)


def similarities(n: int, seed: int = 0) -> Tensor:
    drawn = torch.randn(n, n, generator=torch.Generator().manual_seed(seed)).double()
    return drawn + drawn.mT


def squared(points: Tensor) -> Tensor:
    """Minus the squared distances."""
    return -((points[..., :, None, :] - points[..., None, :, :]) ** 2).sum(dim=-1)


def test_the_noise_is_symmetric_and_each_pair_has_its_own() -> None:
    noise = symmetric_noise(torch.zeros(2, 30, 30), 50, seeded())
    assert noise.shape == (50, 2, 30, 30)
    assert torch.equal(noise, noise.mT)
    assert (noise.diagonal(dim1=-2, dim2=-1) == 0).all()
    upper = noise[..., *torch.triu_indices(30, 30, 1)]
    assert float(upper.std()) == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("smoothed", [perturbed_forest, perturbed_connectivity])
def test_a_mean_of_forests_and_its_monte_carlo_gradient(smoothed) -> None:
    """Three points, two trees: the one edge is the largest of three numbers."""
    similarity = torch.tensor([[0.0, 0.3, 0.1], [0.3, 0.0, 0.2], [0.1, 0.2, 0.0]])
    similarity = similarity.double().requires_grad_(True)
    found = smoothed(similarity, 2, epsilon=0.2, samples=400_000, generator=seeded())

    def largest(a: float, b: float, c: float) -> float:
        """The probability that a + noise is the largest."""

        def density(x: float) -> float:
            return norm.pdf(x, a, 0.2) * norm.cdf(x, b, 0.2) * norm.cdf(x, c, 0.2)

        return float(quad(density, -2, 3)[0])

    assert float(found[0, 1].detach()) == pytest.approx(largest(0.3, 0.1, 0.2), abs=0.005)
    assert torch.equal(found, found.mT)
    (gradient,) = torch.autograd.grad(found[0, 1], similarity)
    h = 1e-4
    for (i, j), up, down in (
        ((0, 1), (0.3 + h, 0.1, 0.2), (0.3 - h, 0.1, 0.2)),
        ((1, 2), (0.3, 0.1, 0.2 + h), (0.3, 0.1, 0.2 - h)),
    ):
        slope = (largest(*up) - largest(*down)) / (2 * h)
        # Half of it goes to S_ij, half to S_ji.
        assert float(gradient[i, j] + gradient[j, i]) == pytest.approx(slope, abs=0.05)


def test_the_gradient_of_the_loss_is_that_of_finite_differences() -> None:
    """With the same noise the loss is piecewise linear in the similarities."""
    loss = PartialFenchelYoungLoss(2, epsilon=0.3, samples=20)
    must, cannot = links_from_labels(torch.tensor([0, 0, 1, -1, 1, -1]))
    similarity = similarities(6).requires_grad_(True)
    (gradient,) = torch.autograd.grad(loss(similarity, must, cannot, seeded()), similarity)
    for i, j in ((0, 1), (0, 2), (3, 5), (2, 4)):
        ends = []
        for h in (1e-6, -1e-6):
            moved = similarity.detach().clone()
            moved[i, j] += h
            ends.append(float(loss(moved, must, cannot, seeded())))
        assert float(gradient[i, j]) == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-4)
    expected = perturbed_forest(similarity, 2, epsilon=0.3, samples=20, generator=seeded())
    expected -= perturbed_forest(
        similarity, 2, must_link=must, cannot_link=cannot, epsilon=0.3, samples=20,
        generator=seeded(),
    )  # fmt: skip
    assert torch.allclose(gradient, expected.detach() / 2)


def test_the_loss_is_not_negative_and_zero_at_agreement_without_noise() -> None:
    labels = torch.arange(9) % 3
    must, cannot = links_from_labels(labels)
    for seed in range(20):
        loss = PartialFenchelYoungLoss(3, samples=10)
        assert float(loss(similarities(9, seed), must, cannot, seeded())) >= 0
    clear = PartialFenchelYoungLoss(3, epsilon=0.0, samples=1)
    assert float(clear(squared(5.0 * torch.eye(3)[labels]), must, cannot)) == 0
    assert float(clear(similarities(9), must, cannot)) > 0


def test_a_batch_is_the_mean_of_its_parts() -> None:
    batch = torch.stack([similarities(7, seed) for seed in range(3)])
    must, cannot = links_from_labels(torch.tensor([[0, 1, 0, -1, -1, 1, 2]] * 3))
    loss = PartialFenchelYoungLoss(3, epsilon=0.0, samples=1)
    parts = [loss(batch[i], must[i], cannot[i]) for i in range(3)]
    assert float(loss(batch, must, cannot)) == pytest.approx(float(torch.stack(parts).mean()))


def test_connectivity_can_be_learned_by_squared_distance() -> None:
    """Two clusters beside a nuisance dimension; gradients pass through the clustering alone."""
    generator = seeded()
    labels = torch.arange(12) % 2
    points = torch.stack([labels * 1.0, torch.linspace(0, 6, 12)], dim=1)
    weights = torch.ones(2, requires_grad=True)
    wanted = (labels[:, None] == labels).float()
    optimiser = torch.optim.Adam([weights], lr=0.1)
    for _ in range(60):
        found = perturbed_connectivity(
            squared(points * weights), 2, epsilon=0.3, samples=200, generator=generator
        )
        optimiser.zero_grad()
        ((found - wanted) ** 2).mean().backward()
        optimiser.step()
    final = max_spanning_forest(squared(points * weights.detach()), 2)
    assert torch.equal(final.connectivity, wanted.bool())


def noisy_blobs(rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Section 11: four Gaussians of 15 points in two dimensions, and two of uniform noise.

    The noise is eight times as wide as the printed one, which single linkage does not mind here.
    """
    means = np.array(
        [[0.97627008, 4.30378733], [2.05526752, 0.89766366],
         [-1.52690401, 2.91788226], [-1.24825577, 7.83546002]]
    )  # fmt: skip
    labels = np.repeat(np.arange(4), 15)
    signal = means[labels] + 0.2 * rng.normal(size=(60, 2))
    points = np.hstack([signal, 8 * rng.random((60, 2))])
    return torch.from_numpy(points).float(), torch.from_numpy(labels)


def test_the_denoising_toy() -> None:
    """Section 4.1: a linear map learned through the clustering removes the noise dimensions."""
    rng, generator = np.random.default_rng(0), seeded()
    points, labels = noisy_blobs(rng)
    others, their_labels = noisy_blobs(rng)
    theta = torch.randn(4, 2, generator=generator).requires_grad_(True)
    loss = PartialFenchelYoungLoss(4, samples=200)
    optimiser = torch.optim.SGD([theta], lr=0.01)

    def error(embedded: Tensor) -> float:
        found = max_spanning_forest(squared(embedded), 4).connectivity
        return float((found != (their_labels[:, None] == their_labels)).float().mean())

    assert error(others) > 0.1  # what single linkage makes of the noise
    assert error(others @ theta.detach()) > 0.1
    for _ in range(40):
        chosen = torch.from_numpy(rng.permutation(60)[:32])
        must, cannot = links_from_labels(labels[chosen])
        optimiser.zero_grad()
        loss(squared(points[chosen] @ theta), must, cannot, generator).backward()
        optimiser.step()
    assert error(others @ theta.detach()) == 0


def test_figure_2_partial_labels_mend_a_clustering() -> None:
    """Two bars, a bridge between them, and a point far away, which single linkage splits off."""
    left = torch.stack([torch.zeros(10), torch.linspace(0, 9, 10)], dim=1)
    right = left + torch.tensor([3.0, 0.0])
    points = torch.cat([left, right, torch.tensor([[1.5, 4.0], [9.0, 0.0]])])
    alone = max_spanning_forest(squared(points), 2)
    assert torch.equal((alone.labels == alone.labels[-1]).sum(), torch.tensor(1))
    labels = torch.full((22,), -1)
    labels[[0, 9]], labels[[10, 19, 21]] = 0, 1
    must, cannot = links_from_labels(labels)
    found = max_spanning_forest(squared(points), 2, must_link=must, cannot_link=cannot)
    assert (found.labels[:10] == found.labels[0]).all()
    assert (found.labels[10:20] == found.labels[21]).all()
    assert found.labels[0] != found.labels[21]
