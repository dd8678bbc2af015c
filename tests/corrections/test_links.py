"""Corrected windows as links."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.clustering import make
from diarize.corrections import Claim, Corrections, Kind
from diarize.corrections.links import relink, window_links
from diarize.sets import to_sphere


def test_windows_inside_of_stretches_are_linked() -> None:
    windows = np.stack([np.arange(10) * 0.5, np.arange(10) * 0.5 + 1.0], axis=1)
    told = Corrections(
        (
            Claim(0.0, 2.0, "ann", Kind.ONLY),
            Claim(2.0, 3.4, "ben", Kind.ONLY),
            Claim(3.5, 5.5, "ann", Kind.ONLY),
            Claim(0.0, 5.5, "carl", Kind.ABSENT),
        )
    )
    must, cannot = window_links(told, windows)
    assert must.tolist() == [[0, 1], [1, 2], [2, 7], [7, 8], [8, 9]]
    assert cannot.tolist() == [[0, 4]]
    nothing = window_links(Corrections(), windows)
    assert [pairs.shape for pairs in nothing] == [(0, 2), (0, 2)]


@pytest.mark.parametrize(("most", "expected"), [(None, 3), (3, 3), (2, 2)])
def test_whoever_had_left_comes_back_where_corrections_name_them(
    most: int | None, expected: int
) -> None:
    """Three voices, one of which was not told apart, so that two speakers were kept."""
    generator = np.random.default_rng(0)
    rows = np.repeat(np.eye(3, 6), 20, axis=0) + 0.05 * generator.normal(size=(60, 6))
    vectors = to_sphere(rows).astype(np.float32)
    windows = np.stack([np.arange(60) * 2.0, np.arange(60) * 2.0 + 2.0], axis=1)
    fitted = make("forest", max_set_size=1, n_speakers=3, random_state=0).fit(vectors)
    two = fitted.moved_to(vectors, fitted.centroids_[:2])
    told = Corrections(
        tuple(
            Claim(start, start + 10.0, name, Kind.ONLY)
            for start, name in ((0.0, "ann"), (40.0, "ben"), (80.0, "carl"))
        )
    )
    speakers, _ = relink(two, {0: "A", 1: "B"}, told, windows, vectors, most)
    assert len(speakers.centroids) == expected
