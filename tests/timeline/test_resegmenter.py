"""The network that says when each speaker is heard."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from diarize.errors import InputError
from diarize.storage.files import write_weights
from diarize.timeline import resegmenter
from diarize.timeline.evidence import OF_CELL, OF_SPEAKER, SLICES, Evidence
from diarize.timeline.resegmenter import Resegmenter, load_resegmenter, of_others, save_resegmenter


def evidence(k: int, n: int) -> Evidence:
    rng = np.random.default_rng(0)
    of_speakers = rng.standard_normal((k, n, OF_SPEAKER)).astype(np.float32)
    of_cells = rng.standard_normal((n, OF_CELL)).astype(np.float32)
    return Evidence(np.arange(k), np.zeros((n * SLICES, 2)), of_speakers, of_cells)


@pytest.fixture
def network() -> Resegmenter:
    torch.manual_seed(0)
    return Resegmenter().eval()


def test_speakers_may_come_in_any_order(network):
    given, order = evidence(3, 20), [2, 0, 1]
    turned = Evidence(given.speakers, given.slices, given.of_speakers[order], given.of_cells)
    np.testing.assert_allclose(
        network.log_odds(turned), network.log_odds(given)[:, order], atol=1e-5
    )


@pytest.mark.parametrize("k", [1, 2, 5])
def test_any_number_of_speakers_and_cells(network, k):
    assert network.log_odds(evidence(k, 7)).shape == (7 * SLICES, k)
    assert network.log_odds(evidence(k, 1)).shape == (SLICES, k)


def test_a_long_recording_is_answered_in_parts(network, monkeypatch):
    given = evidence(2, 300)
    whole = network.log_odds(given)
    monkeypatch.setattr(resegmenter, "SPAN", 100)
    monkeypatch.setattr(resegmenter, "CONTEXT", 60)
    np.testing.assert_allclose(network.log_odds(given), whole, atol=1e-3)


def test_what_is_known_of_all_others():
    own = torch.tensor([[[[1.0]], [[5.0]], [[3.0]]]])  # (1, 3, 1, 1)
    largest, mean = of_others(own)
    assert largest.flatten().tolist() == [5, 3, 5]
    assert mean.flatten().tolist() == [4, 2, 3]
    assert not torch.stack(of_others(own[:, :1])).any()


def test_weights_are_written_and_read(network, tmp_path: Path):
    path = tmp_path / "own.safetensors"
    save_resegmenter(network, path)
    again = load_resegmenter(path)
    own, read = (one.log_odds(evidence(2, 9)) for one in (network, again))
    np.testing.assert_allclose(read, own, atol=1e-5)


def test_other_weights_are_refused(tmp_path: Path):
    path = tmp_path / "other.safetensors"
    write_weights(path, {"enter.weight": np.zeros((2, 2), np.float32)})
    with pytest.raises(InputError, match="weights that do not fit the network"):
        load_resegmenter(path)
    with pytest.raises(InputError, match="no such file"):
        load_resegmenter(tmp_path / "none.safetensors")
