"""What a network sees of speakers and cells."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from diarize.activity import VoiceCounts
from diarize.sets import Speakers, SpeakerSets
from diarize.timeline import Decoded, TimelineOptions, Trellis
from diarize.timeline.evidence import FAR, OF_CELL, OF_SPEAKER, SLICES, Evidence, cut, how_far

from ..making import cells, unit_mean

E, F = np.eye(4)[:2]


def found(turns=((0.0, 0.5, 0), (0.25, 1.0, 2))) -> Decoded:
    """Two cells of half a second, and three speakers of whom the second says nothing."""
    speakers = Speakers(np.eye(4)[:3], g, 2)
    vectors = np.array([E, np.eye(4)[2]])
    trellis = Trellis.of(cells(2), vectors, speakers.sets(), None, TimelineOptions())
    sets = SpeakerSets.from_lists([[0], [2]], n_speakers=3)
    names = {who: f"SPEAKER_{who:02d}" for *_, who in turns}
    trellis = replace(trellis, voices=vectors[::-1])
    return Decoded(list(turns), names, trellis, sets, speakers)


def g(places: np.ndarray, sets: np.ndarray) -> np.ndarray:
    held = [places[own] for own in sets]
    return np.stack([own[0] if len(own) == 1 else unit_mean(*own) for own in held])


def test_cells_are_cut_into_slices_of_one_length():
    slices = cut(cells(2))
    assert slices.shape == (2 * SLICES, 2)
    np.testing.assert_allclose(np.diff(slices), 0.5 / SLICES)
    np.testing.assert_allclose(slices[1:, 0], slices[:-1, 1])


def test_only_speakers_who_have_turns_are_seen():
    counts = VoiceCounts(0.0, np.full((50, 4), 0.25, np.float32))
    evidence = Evidence.of(found(), counts)
    assert evidence.speakers.tolist() == [0, 2]
    assert evidence.of_speakers.shape == (2, 2, OF_SPEAKER)
    assert evidence.of_cells.shape == (2, OF_CELL)
    first, second = evidence.decoded.T
    assert np.flatnonzero(first).tolist() == list(range(10))
    assert np.flatnonzero(second).tolist() == list(range(5, 20))
    np.testing.assert_allclose(evidence.of_cells[:, :-4], np.log(4), rtol=1e-6)
    others = [[0.5, 1, 0, 0], [0.5, 0, 1, 0]]
    np.testing.assert_allclose(evidence.of_cells[:, -4:], others, rtol=1e-6)


def test_how_far_a_speaker_lies():
    distances = how_far(found(), np.array([E, unit_mean(E, np.eye(4)[2])]), np.array([0, 2]))
    pair = 2 - 2**0.5  # squared distance of a unit vector from where two lie
    # The centroids are taken anew around these windows: E, and the mean of both.
    second = unit_mean(E, np.eye(4)[2])
    apart = ((E - second) ** 2).sum()
    assert distances.shape == (2, 2, 4)
    np.testing.assert_allclose(distances[0, 0, :2], [0, apart])
    np.testing.assert_allclose(distances[1, 1, :2], [0, apart], atol=1e-12)
    assert 0 < apart == pytest.approx(pair)
    assert distances[0, 0, 2] == pytest.approx(apart)  # without the speaker there is the other one
    assert (distances[:, :, 3] > 0).all() and np.abs(distances).max() <= FAR


def test_one_speaker_is_seen():
    counts = VoiceCounts(0.0, np.full((50, 4), 0.25, np.float32))
    evidence = Evidence.of(found([(0.0, 1.0, 0)]), counts)
    assert np.isfinite(evidence.of_speakers).all() and evidence.decoded.all()
