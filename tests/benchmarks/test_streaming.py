from __future__ import annotations

import os
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


def test_samples_as_bytes(script: dict[str, object]) -> None:
    data = script["as_bytes"](np.array([0.0, 1.0, -2.0]))  # type: ignore[operator]
    assert np.frombuffer(data, "<i2").tolist() == [0, 32767, -32767]


def test_the_memory_of_this_process(script: dict[str, object]) -> None:
    assert script["resident"](os.getpid()) > 10 * 2**20  # type: ignore[operator]
