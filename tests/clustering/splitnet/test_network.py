"""SplitNet is a function of sets, and its loss of partitions."""

from __future__ import annotations

import pytest
import torch

from diarize.clustering.splitnet.network import (
    SplitNet,
    SplitNetConfig,
    normalise,
    swap_invariant_loss,
)

SMALL = SplitNetConfig(3, hidden=16, inducing=4, seeds=2, heads=2)


@pytest.fixture(scope="module")
def network() -> SplitNet:
    torch.manual_seed(0)
    return SplitNet(SMALL).eval()


@pytest.mark.parametrize("n", [2, 17, 60])
def test_rows_may_come_in_any_order(network, n):
    rows = torch.randn(2, n, 3)
    order = torch.randperm(n)
    with torch.inference_mode():
        assert torch.allclose(network(rows)[:, order], network(rows[:, order]), atol=1e-5)


def test_layers_have_weights_of_their_own(network):
    first, second = network.encode
    assert first.gather.queries.weight is not second.gather.queries.weight
    assert not torch.equal(first.gather.queries.weight, second.gather.queries.weight)


def test_table_2_has_three_sizes():
    counts = {}
    for D in (2, 10, 20):
        with torch.device("meta"):
            network = SplitNet(SplitNetConfig.of(D))
        counts[D] = sum(p.numel() for p in network.parameters())
    assert counts[2] < counts[10] < 1e6 < counts[20] < 3.4e6
    assert SplitNetConfig.of(3).heads == 8 and SplitNetConfig.of(12).hidden == 256


def test_the_loss_knows_no_names_and_no_order():
    logits, halves = torch.randn(4, 30), (torch.rand(4, 30) < 0.4).float()
    loss = swap_invariant_loss(logits, halves)
    order = torch.randperm(30)
    assert torch.allclose(loss, swap_invariant_loss(logits, 1 - halves))
    assert torch.allclose(loss, swap_invariant_loss(-logits, halves))
    assert torch.allclose(loss, swap_invariant_loss(logits[:, order], halves[:, order]))
    sure = 20 * (2 * halves - 1)
    assert swap_invariant_loss(sure, halves).max() < 1e-6
    # Of each set by itself, not of all together.
    mixed = torch.cat([sure[:2], -sure[2:]])
    assert swap_invariant_loss(mixed, halves).max() < 1e-6


def test_normalised_sets_have_mean_0_and_spread_1():
    rows = torch.randn(3, 50, 2, dtype=torch.float64) * 7 + 4
    rows[0, :, 1] = 5.0  # constant
    seen = normalise(rows)
    assert torch.allclose(seen.mean(dim=1), torch.zeros(3, 2, dtype=torch.float64), atol=1e-9)
    assert torch.allclose(seen[1:].std(dim=1, unbiased=False), torch.ones(2, 2).double())
    assert (seen[0, :, 1] == 0).all()
