"""SplitNet is a function of sets, and its loss of partitions."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch

from diarize.clustering.dpgmm.splitnet import (
    CONFIG,
    SplitNet,
    SplitNetConfig,
    load_splitnet,
    normalise,
    shipped_splitnet,
)
from diarize.storage.files import write_weights

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


def test_normalised_sets_have_mean_0_and_spread_1():
    rows = torch.randn(3, 50, 2, dtype=torch.float64) * 7 + 4
    rows[0, :, 1] = 5.0  # constant
    seen = normalise(rows)
    assert torch.allclose(seen.mean(dim=1), torch.zeros(3, 2, dtype=torch.float64), atol=1e-9)
    assert torch.allclose(seen[1:].std(dim=1, unbiased=False), torch.ones(2, 2).double())
    assert (seen[0, :, 1] == 0).all()


def write(network: SplitNet, path: Path) -> None:
    tensors = {name: value.half() for name, value in network.state_dict().items()}
    write_weights(path, tensors, {CONFIG: json.dumps(asdict(network.config))})


def test_what_is_written_is_read(tmp_path):
    network = SplitNet(SMALL)
    path = tmp_path / "net.safetensors"
    write(network, path)
    again = load_splitnet(path)
    assert again.config == SMALL and not again.training
    for name, value in network.state_dict().items():
        assert torch.allclose(again.state_dict()[name], value, atol=1e-3)


def test_files_that_are_no_weights_are_refused(tmp_path):
    with pytest.raises(ValueError, match="no such file"):
        load_splitnet(tmp_path / "missing")
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"no weights")
    with pytest.raises(ValueError, match="damaged weights file"):
        load_splitnet(damaged)
    other = tmp_path / "other"
    from safetensors.torch import save

    other.write_bytes(save({"a": torch.zeros(1)}))
    with pytest.raises(ValueError, match="not a SplitNet"):
        load_splitnet(other)


def test_overwritten_weights_are_refused(tmp_path):
    path = tmp_path / "net.safetensors"
    write(SplitNet(SMALL), path)
    content = bytearray(path.read_bytes())
    content[-20:-16] = b"\0\x3c\0\x3c"  # two ones
    path.write_bytes(content)
    with pytest.raises(ValueError, match="damaged weights file"):
        load_splitnet(path)


@pytest.mark.parametrize("claim", [{"hidden": 400_000}, {"seeds": 10**12}, {"encoders": 10**9}])
def test_sizes_that_a_file_does_not_hold_take_no_memory(claim, tmp_path):
    from safetensors.torch import save

    network = SplitNet(SMALL)
    sizes = asdict(SMALL) | claim
    path = tmp_path / "net.safetensors"
    path.write_bytes(save(network.state_dict(), metadata={CONFIG: json.dumps(sizes)}))
    with pytest.raises(ValueError, match="damaged weights file"):
        load_splitnet(path)


@pytest.mark.parametrize("dimension", [2, 10, 20])
def test_what_ships_is_small_and_has_a_card(dimension):
    path = shipped_splitnet(dimension)
    if not path.is_file():
        pytest.skip("this one does not ship")
    assert load_splitnet(path).config.dimension == dimension
    assert path.stat().st_size < {2: 4e6, 10: 4e6, 20: 13e6}[dimension]
    card = path.with_suffix(".md").read_text(encoding="utf-8")
    for word in ("easy", "medium", "hard", "2-means"):
        assert word in card
