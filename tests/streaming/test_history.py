from __future__ import annotations

import numpy as np

from diarize.activity.counts import INSTANT
from diarize.streaming.history import CountSpool, Spool
from diarize.timeline.trellis import surprise


def test_windows_come_back() -> None:
    spool, rng = Spool(8), np.random.default_rng(0)
    cells = np.sort(rng.uniform(0, 9, (5, 2)), axis=1)
    vectors = rng.normal(size=(5, 8)).astype(np.float32)
    spool.add(cells[:2], vectors[:2])
    assert len(spool) == 2 and np.array_equal(spool.read()[0], cells[:2])
    spool.add(cells[2:], vectors[2:])
    read_cells, read_vectors = spool.read()
    assert np.array_equal(read_cells, cells)
    assert np.allclose(read_vectors, vectors, rtol=1e-3) and read_vectors.dtype == np.float32
    assert np.array_equal(spool.read(1, 3)[0], cells[1:3])
    assert len(spool.read(5)[0]) == 0


def test_counts_come_back() -> None:
    spool, rng = CountSpool(), np.random.default_rng(0)
    counts = rng.dirichlet([0.1] * 4, 100).astype(np.float32)
    for part in (counts[:30], counts[:0], counts[30:]):
        spool.add(part, part)
    voices = spool.read()
    assert voices is not None and voices.start == 0
    assert np.allclose(voices.probabilities, counts, atol=1e-3)
    late = spool.read(1.0)
    assert late is not None and late.start == 1.0
    assert np.array_equal(late.probabilities, voices.probabilities[50:])
    cells = np.array([[1.1, 1.3], [1.3, 1.9]])
    assert np.allclose(surprise(late, cells, 3), surprise(voices, cells, 3))


def test_what_is_heard_again_replaces_what_was_said_at_once() -> None:
    spool, rng = CountSpool(), np.random.default_rng(0)
    now, again = rng.dirichlet([0.1] * 4, (2, 100)).astype(np.float32)
    spool.add(now[:50], again[:0])
    spool.add(now[50:], again[:70])
    for begin in (0, 60, 90):
        voices = spool.read(begin * INSTANT)
        assert voices is not None
        expected = np.concatenate([again[:70], now[70:]])[begin:]
        assert np.allclose(voices.probabilities, expected, atol=1e-3)


def test_nothing_was_kept() -> None:
    assert CountSpool().read() is None
    cells, vectors = Spool(8).read()
    assert cells.shape == (0, 2) and vectors.shape == (0, 8)


def test_what_is_too_small_for_half_precision_is_zero() -> None:
    small = np.full((2, 4), 1e-9, np.float32)
    with np.errstate(all="raise"):
        spool, counts = Spool(4), CountSpool()
        spool.add(np.zeros((2, 2)), small)
        counts.add(small, small[:1])
    voices = counts.read()
    assert voices is not None and not voices.probabilities.any() and not spool.read()[1].any()
