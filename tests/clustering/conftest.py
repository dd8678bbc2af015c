"""Small worlds of speakers for the clustering tests."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest

from diarize.sets import SpeakerSets

from ..making import unit, unit_mean

__all__ = ["unit", "unit_mean"]  # of the tests beside this file


class World(NamedTuple):
    """Rows around the sets of known centroids."""

    rows: np.ndarray
    truth: SpeakerSets
    centroids: np.ndarray


@pytest.fixture(scope="session")
def make_world() -> Callable[..., World]:
    """Draw a world: unit rows, `share` of them mixtures of two speakers."""

    def make(
        n: int = 90,
        k: int = 3,
        p: int = 16,
        share: float = 0.3,
        noise: float = 0.15,
        seed: int = 0,
        dtype: type = np.float64,
    ) -> World:
        generator = np.random.default_rng(seed)
        basis = np.linalg.qr(generator.normal(size=(p, p)))[0][:k]  # far apart
        pairs = list(combinations(range(k), 2))
        lists = [
            list(pairs[generator.integers(len(pairs))])
            if pairs and generator.random() < share
            else [int(generator.integers(k))]
            for _ in range(n)
        ]
        lists[:k] = [[j] for j in range(k)][:n]
        truth = SpeakerSets.from_lists(lists, k)
        rows = unit(truth.membership @ basis)
        rows = unit(rows + noise * generator.normal(size=(n, p)) / np.sqrt(p))
        return World(rows.astype(dtype), truth, basis)

    return make
