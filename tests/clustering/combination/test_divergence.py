"""KL* of table 4, and the matrices of appendix D."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from diarize.clustering.combination.divergence import (
    hard_divergence,
    size_divergence,
    soft_divergence,
)

D1 = np.array([[0.98, 0.01, 0.01], [0.98, 0.01, 0.01], [0.49, 0.50, 0.01], [0.49, 0.01, 0.50]])
D2 = np.tile([0.34, 0.33, 0.33], (4, 1))
EQUAL = np.array([0, 1, 2])


def test_hard_and_soft_entropies_of_appendix_d() -> None:
    """Against equal classes KL* is log 3 less the entropy; the appendix swaps the names for D1."""
    truth = np.tile(EQUAL, 4)  # three classes of four
    for matrix, hard, soft in ((D1, 1.5, 1.1), (D2, 0.0, 1.585)):
        rows = np.tile(matrix, (3, 1))
        entropies = [
            (np.log(3) - divergence(rows, truth)) / np.log(2)
            for divergence in (hard_divergence, soft_divergence)
        ]
        assert entropies == pytest.approx([hard, soft], abs=0.005)


def test_a_collapsed_model_has_the_largest_hard_divergence() -> None:
    collapsed = np.tile([0.11] + 9 * [0.89 / 9], (50, 1))
    truth = np.repeat(np.arange(10), 5)
    assert hard_divergence(collapsed, truth) == pytest.approx(np.log(10))
    assert soft_divergence(collapsed, truth) < 0.001


def test_sizes_in_order_are_the_best_pairing() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        q, p = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(4))
        best = min(float((q * np.log(q / p[list(o)])).sum()) for o in permutations(range(4)))
        assert size_divergence(q, p) == pytest.approx(best)


def test_more_clusters_than_classes() -> None:
    assert size_divergence(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == np.inf
    assert size_divergence(np.array([1.0, 0.0]), np.array([0.5, 0.5])) == pytest.approx(np.log(2))
    with pytest.raises(ValueError, match="3 classes, but only 2 clusters"):
        hard_divergence(np.ones((3, 2)), EQUAL)
    with pytest.raises(ValueError, match="no rows"):
        soft_divergence(np.ones((0, 2)), EQUAL[:0])
