from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def script(repo_root: Path) -> dict[str, Any]:
    return runpy.run_path(str(repo_root / "benchmarks" / "links.py"))


def test_the_number_of_subclusters_stays(script: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    links, centers = script["known"](20, 128, rng)
    ids = links.partial_fit(script["draw"](centers, 200, rng))
    assert len(set(ids)) <= 20
    assert len(set(links.partial_fit(centers))) == 20


def test_vectors_come_in_blocks(script: dict[str, Any]) -> None:
    centers = np.eye(3)
    found = list(script["blocks"](centers, 25_000, np.random.default_rng(0)))
    assert [len(block) for block in found] == [10_000, 10_000, 5_000]
    assert np.allclose(np.linalg.norm(found[0], axis=1), 1)


def test_both_are_timed(script: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    links, centers = script["known"](5, 16, rng)
    assert script["per_vector"](links, script["draw"](centers, 40, rng)) > 0
    assert script["literal_seconds"](centers, script["draw"](centers, 5, rng)) > 0
