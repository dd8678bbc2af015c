from __future__ import annotations

import runpy
from itertools import islice
from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(scope="module")
def script(repo_root: Path) -> dict[str, object]:
    return runpy.run_path(str(repo_root / "benchmarks" / "streaming.py"))


def test_repetitions_differ(script: dict[str, object]) -> None:
    samples = np.random.default_rng(0).normal(0, 0.1, 500).astype(np.float32)
    blocks = list(islice(script["repeated"](samples, 1), 4))  # type: ignore[operator]
    again = list(islice(script["repeated"](samples, 1), 4))  # type: ignore[operator]
    assert all(np.array_equal(a, b) for a, b in zip(blocks, again, strict=True))
    distances = [np.abs(a - b).max() for i, a in enumerate(blocks) for b in blocks[:i]]
    assert min(distances) > 0.01
