"""SplitNet's weights on disk."""

from __future__ import annotations

import json
from dataclasses import asdict

import pytest
import torch

from diarize.clustering.splitnet.network import SplitNet, SplitNetConfig
from diarize.clustering.splitnet.weights import CONFIG, load_splitnet, packed, shipped_splitnet

SMALL = SplitNetConfig(3, hidden=16, inducing=4, seeds=2, heads=2)


def test_what_is_written_is_read(tmp_path):
    network = SplitNet(SMALL)
    path = tmp_path / "net.safetensors"
    path.write_bytes(packed(network))
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
    content = bytearray(packed(SplitNet(SMALL)))
    content[-20:-16] = b"\0\x3c\0\x3c"  # two ones
    path = tmp_path / "net.safetensors"
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
