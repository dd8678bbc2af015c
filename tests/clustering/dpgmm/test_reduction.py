"""Rows before the sampler."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.clustering.dpgmm.reduction import AXES, reduce_rows


@pytest.mark.parametrize(("n", "p"), [(40, 5), (40, 50), (6, 50), (1, 3), (1, 300)])
def test_other_rows_go_along_their_own_axes(n, p):
    rows = np.random.default_rng(0).normal(size=(n, p)) + 3
    reduced, prior = reduce_rows(rows)
    assert reduced.shape == (n, p if p <= AXES else min(AXES, n))
    prior.check()
    assert prior.dimension == reduced.shape[1]
    assert np.allclose(reduced.mean(axis=0), 0, atol=1e-9)
    centered = rows - rows.mean(axis=0)
    if p <= AXES or n <= AXES:  # nothing is lost
        assert np.allclose(reduced @ reduced.T, centered @ centered.T, atol=1e-8)


def test_rows_of_the_shipped_embedding_go_along_the_axes_of_its_training():
    from diarize.embedding import load_model

    model = load_model()
    p, known = model.config.dim, model.knowledge.scatter
    rows = np.random.default_rng(0).normal(size=(9, p)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    reduced, prior = reduce_rows(rows, known)
    assert reduced.shape == (9, AXES)
    prior.check()
    # The same row has the same coordinates in any company, and axes are orthonormal.
    assert np.allclose(reduce_rows(rows[:2], known)[0], reduced[:2])
    assert reduce_rows(rows)[0].shape != reduced.shape  # nobody has said whose rows they are
    assert np.allclose(reduce_rows(3 * rows, known)[0], reduce_rows(3 * rows)[0])
    gaps = np.linalg.norm(rows[0] - rows[1]), np.linalg.norm(reduced[0] - reduced[1])
    assert gaps[1] <= gaps[0] + 1e-6
    # A voice scatters far less than voices do.
    assert 0.05 < prior.kappa < 0.5
