"""What the benchmark measures against is right, and its arithmetic is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from diarize.scoring import compositional_rand_index
from diarize.sets import SpeakerSets


@pytest.fixture
def folder(repo_root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(repo_root / "benchmarks"))
    for name in ("clustering", "clustering_peers"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return repo_root / "benchmarks"


def test_the_shortcut_takes_the_steps_of_the_timed_peer(folder: Path) -> None:
    from clustering_peers import AdamKMeans

    generator = np.random.default_rng(0)
    rows = generator.normal(size=(60, 6)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    starts = rows[:9].reshape(3, 3, 6)
    for on_sphere in (True, False):
        peer = AdamKMeans(rows, lambda a, b: (a + b) / 2, 3, on_sphere)
        expected = [peer.run(start, 2, 15) for start in starts]
        assert np.allclose(peer.run_all(starts, 2, 15), expected, rtol=1e-4)


def test_the_index_of_all_pairs_is_the_index(folder: Path) -> None:
    from clustering_peers import index_of_all_pairs

    generator = np.random.default_rng(0)
    one, two = (SpeakerSets(generator.random((90, 4)) < 0.5) for _ in range(2))
    assert index_of_all_pairs(one, two) == pytest.approx(compositional_rand_index(one, two))
