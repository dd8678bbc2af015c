"""Losses against collapse, on batches small enough to look at."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from divergence import (
    hard_divergence,
    size_divergence,
    soft_divergence,
)
from regularisers import (
    REGULARISERS,
    combination,
    concrete_k_means,
    marginal_entropy,
    memberships,
    sinkhorn_knopp,
    sum_of_squares,
    transport,
    unregularised,
)

from diarize.clustering.ca import assign

UNIFORM = torch.full((3,), 1 / 3, dtype=torch.float64)


def drawn(*shape: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return torch.rand(shape, generator=generator).double()


def noise() -> torch.Generator:
    return torch.Generator().manual_seed(1)


@pytest.mark.parametrize("name", REGULARISERS)
@pytest.mark.parametrize("views", [1, 2])
def test_one_contract(name: str, views: int) -> None:
    """A finite loss whose gradient is right, and the same for the same noise."""
    distances = drawn(views, 7, 3)
    regulariser = REGULARISERS[name]
    value = regulariser(distances, 0.3, UNIFORM, noise())
    assert value.shape == () and float(value) > 0
    assert torch.equal(value, regulariser(distances, 0.3, UNIFORM, noise()))
    free = distances.requires_grad_(True)
    assert torch.autograd.gradcheck(lambda d: regulariser(d, 0.3, UNIFORM, noise()), free)


@pytest.mark.parametrize("name", ["combination", "sinkhorn-knopp", "none"])
def test_views_share_their_cluster(name: str) -> None:
    """The second view is nearer to another cluster, but the first is surer."""
    distances = torch.tensor([[[0.0, 9.0]], [[2.0, 1.0]]])
    prior = torch.tensor([0.5, 0.5])
    assert float(REGULARISERS[name](distances, 0.5, prior, noise())) == pytest.approx(1.0)


def test_combination_takes_the_greedy_labels() -> None:
    distances, prior = drawn(1, 20, 3), torch.tensor([0.2, 0.3, 0.5]).double()
    labels = assign(distances[0].detach().numpy(), 0.4, prior.numpy())
    expected = distances[0, np.arange(20), labels].mean() / 0.8
    assert float(combination(distances, 0.4, prior, noise())) == pytest.approx(float(expected))


def test_a_plan_has_the_prior_as_its_mean() -> None:
    prior = torch.tensor([0.6, 0.3, 0.1]).double()
    plan = transport(drawn(40, 3), 0.2, prior)
    assert torch.allclose(plan.sum(dim=1), torch.ones(40).double())
    assert torch.allclose(plan.mean(dim=0), prior, atol=1e-3)
    even = transport(torch.zeros(6, 3).double(), 0.2, UNIFORM)
    assert torch.allclose(even, torch.full((6, 3), 1 / 3).double())
    assert torch.isfinite(transport(1e6 * drawn(40, 3), 1e-3, prior)).all()


def test_penalties_of_soft_assignments() -> None:
    """All rows in one cluster: the divergence from equal clusters is log 3, squares add up to 1."""
    collapsed = torch.tensor([0.0, 1e3, 1e3]).double().expand(1, 5, 3)
    assert float(unregularised(collapsed, 1.0, UNIFORM, noise())) == 0.0
    entropy = float(marginal_entropy(collapsed, 1.0, UNIFORM, noise()))
    assert entropy == pytest.approx(np.log(3))
    assert float(sum_of_squares(collapsed, 1.0, UNIFORM, noise())) == pytest.approx(1.0)
    spread = torch.tensor([[0.0, 1e3, 1e3], [1e3, 0.0, 1e3], [1e3, 1e3, 0.0]]).double()[None]
    assert float(marginal_entropy(spread, 1.0, UNIFORM, noise())) == pytest.approx(0.0)
    assert float(sum_of_squares(spread, 1.0, UNIFORM, noise())) == pytest.approx(1 / 3)
    # Matrix D2: soft assignments are nearly even, and no hard one differs.
    even = -2 * torch.tensor([0.34, 0.33, 0.33]).double().log().expand(1, 4, 3)
    assert torch.allclose(memberships(even[0], 1.0)[0], torch.tensor([0.34, 0.33, 0.33]).double())
    least = float(unregularised(even, 1.0, UNIFORM, noise()))
    assert float(marginal_entropy(even, 1.0, UNIFORM, noise())) - least < 1e-3


def test_sinkhorn_and_combination_part_rows_that_nearly_coincide() -> None:
    distances = torch.tensor([[[0.0, 0.10], [0.0, 0.11], [0.0, 0.12], [0.0, 0.13]]]).double()
    prior = torch.tensor([0.5, 0.5]).double()
    fits = [
        float(regulariser(distances, 1.0, prior, noise()))
        for regulariser in (combination, sinkhorn_knopp)
    ]
    # Greedily rows 0 and 2 take the first cluster; the plan knows which two lose least by leaving.
    assert fits == pytest.approx([(0.11 + 0.13) / 8, (0.10 + 0.11) / 8])


def test_concrete_draws_follow_the_noise() -> None:
    distances = drawn(1, 400, 3)
    values = {float(concrete_k_means(distances, 0.1, UNIFORM, noise())) for _ in range(2)}
    other = float(concrete_k_means(distances, 0.1, UNIFORM, torch.Generator().manual_seed(5)))
    assert len(values) == 1 and other not in values
    nearest = float(unregularised(distances, 0.1, UNIFORM, noise()))
    assert nearest < other < float(distances.mean()) / 0.2 + 0.1


D1 = np.array([[0.98, 0.01, 0.01], [0.98, 0.01, 0.01], [0.49, 0.50, 0.01], [0.49, 0.01, 0.50]])
D2 = np.tile([0.34, 0.33, 0.33], (4, 1))
EQUAL = np.array([0, 1, 2])


def test_hard_and_soft_entropies_of_appendix_d() -> None:
    """Against equal classes KL* is log 3 less the entropy; the appendix swaps the names for D1."""
    truth = np.tile(EQUAL, 4)  # three classes of four
    for matrix, hard, soft in ((D1, 1.5, 1.1), (D2, 0.0, 1.585)):
        rows = np.tile(matrix, (3, 1))
        entropies = [
            (np.log(3) - divergence(rows, truth)) / np.log(2)
            for divergence in (hard_divergence, soft_divergence)
        ]
        assert entropies == pytest.approx([hard, soft], abs=0.005)


def test_a_collapsed_model_has_the_largest_hard_divergence() -> None:
    collapsed = np.tile([0.11] + 9 * [0.89 / 9], (50, 1))
    truth = np.repeat(np.arange(10), 5)
    assert hard_divergence(collapsed, truth) == pytest.approx(np.log(10))
    assert soft_divergence(collapsed, truth) < 0.001


def test_sizes_in_order_are_the_best_pairing() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        q, p = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
        best = min(float((q * np.log(q / p[list(o)])).sum()) for o in permutations(range(4)))
        assert size_divergence(q, p) == pytest.approx(best)


def test_more_clusters_than_classes() -> None:
    assert size_divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == np.inf
    assert size_divergence(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == pytest.approx(np.log(2))
    with pytest.raises(ValueError, match="3 classes, but only 2 clusters"):
        hard_divergence(np.ones((3, 2)), EQUAL)
    with pytest.raises(ValueError, match="no rows"):
        soft_divergence(np.ones((0, 2)), EQUAL[:0])
