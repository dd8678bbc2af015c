"""How sub-clusters begin."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diarize.clustering.dpgmm import starts
from diarize.clustering.dpgmm.starts import means_start, random_start, splitnet_start


def two_clouds(n, D=2):
    generator = np.random.default_rng(0)
    side = generator.random(n) < 0.4
    return torch.from_numpy(generator.normal(size=(n, D)) + 20 * side[:, None]), side


@pytest.mark.parametrize("n", [20, 5000])  # more than are looked at
def test_two_means_part_two_clouds(n):
    rows, side = two_clouds(n)
    half = means_start(rows, np.random.default_rng(1)).numpy()
    assert np.array_equal(half, side) or np.array_equal(half, ~side)


@pytest.mark.parametrize("start", [random_start, means_start])
def test_rows_that_coincide_are_parted_somehow(start):
    half = start(torch.ones(50, 3, dtype=torch.float64), np.random.default_rng(0))
    assert half.dtype == torch.bool and 0 < int(half.sum()) < 50


def test_random_halves_are_even():
    half = random_start(torch.zeros(4000, 1, dtype=torch.float64), np.random.default_rng(0))
    assert 1850 < int(half.sum()) < 2150


def test_without_a_network_two_means_begin():
    start, name = splitnet_start(1)
    assert start is means_start and "2-means" in name


class Sign(torch.nn.Module):
    """A network that looks at the sign of the first dimension."""

    def forward(self, rows):
        return rows[:, :, 0]


@pytest.mark.parametrize("n", [100, 700])
def test_a_network_parts_small_and_large_clusters(n, monkeypatch, tmp_path):
    path = tmp_path / "net"
    path.write_bytes(b"")
    monkeypatch.setattr("diarize.clustering.dpgmm.splitnet.shipped_splitnet", lambda d: path)
    monkeypatch.setattr("diarize.clustering.dpgmm.splitnet.load_splitnet", lambda p: Sign())
    rows, side = two_clouds(n)
    start, name = splitnet_start(2)
    assert name == "splitnet-2" and n != starts.NETWORK_SAMPLE
    half = start(rows, np.random.default_rng(0)).numpy()
    assert np.array_equal(half, side) or np.array_equal(half, ~side)
    three, name = splitnet_start(3)
    assert name == "splitnet-2 on 2 principal axes of each cluster"
    wide = torch.cat([rows, 0.1 * rows[:, :1]], dim=1)
    assert 0 < int(three(wide, np.random.default_rng(0)).sum()) < n
