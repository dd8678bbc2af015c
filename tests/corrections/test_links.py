"""Corrected windows as links, and names carried from one clustering to another."""

from __future__ import annotations

import numpy as np

from diarize.corrections import Claim, Corrections, Kind
from diarize.corrections.links import carry_names, window_links
from diarize.sets import SpeakerSets


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


def test_names_are_carried_by_shared_windows() -> None:
    before = SpeakerSets.from_labels([0, 0, 0, 1, 1, 2])
    now = SpeakerSets.from_labels([0, 1, 1, 2, 2, 2])
    names = {0: "SPEAKER_00", 1: "SPEAKER_01"}  # the third had no turn
    assert carry_names(before, names, now) == {1: "SPEAKER_00", 2: "SPEAKER_01"}
