"""Cells, cut at borders."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diarize.corrections.cells import split_cells

ticks = st.integers(0, 40).map(lambda tick: tick / 8)


@given(st.lists(ticks, min_size=2, max_size=12, unique=True), st.sets(ticks), st.randoms())
def test_cells_are_cut_at_borders_and_nowhere_else(edges, borders, random) -> None:
    edges = sorted(edges)
    cells = [pair for pair in itertools.pairwise(edges) if random.random() < 0.8]
    random.shuffle(cells)
    where = np.array(sorted(borders), np.float64)
    found, rows = split_cells(np.array(cells, np.float64).reshape(-1, 2), where)
    expected = []
    for n, (begin, end) in enumerate(cells):
        inside = [begin, *(b for b in sorted(borders) if begin < b < end), end]
        expected += [(b, e, n) for b, e in itertools.pairwise(inside)]
    assert [(b, e, n) for (b, e), n in zip(found.tolist(), rows, strict=True)] == sorted(expected)


def test_a_border_that_is_off_by_rounding_cuts_nothing() -> None:
    cells = np.array([[0.0, 0.3], [0.3, 0.6]])
    found, rows = split_cells(cells, np.array([0.1 + 0.2, 0.6 - 1e-9]))
    np.testing.assert_array_equal(found, cells)
    np.testing.assert_array_equal(rows, [0, 1])
