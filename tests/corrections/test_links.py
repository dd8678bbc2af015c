"""Corrected windows as links."""

from __future__ import annotations

import numpy as np

from diarize.corrections import Claim, Corrections, Kind
from diarize.corrections.links import window_links


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
