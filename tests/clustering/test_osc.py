"""Oracle singleton clustering."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from diarize.clustering.osc import OSC
from diarize.scoring import adjusted_rand_index, compositional_rand_index
from diarize.sets import SpeakerSets

from .conftest import unit_mean


def test_every_set_is_a_speaker_of_its_own():
    rows = np.arange(10.0).reshape(5, 2)
    model = OSC(compose=unit_mean).fit(rows, [[1], [], [0, 1], [1], [0]])
    assert model.sets_.to_lists() == [[0], [], [1], [0], [2]]
    assert model.centroids_.tolist() == [[3, 4], [4, 5], [8, 9]]
    silent = OSC(compose=unit_mean).fit(rows[:2], [[], []])
    assert silent.n_speakers_ == 0


def test_its_score_is_that_of_the_paper():
    sets = [s for size in (1, 2) for s in combinations(range(5), size)]
    truth = SpeakerSets.from_lists(sets * 10)
    model = OSC(compose=unit_mean).fit(np.zeros((150, 3)), truth)
    assert round(100 * compositional_rand_index(model.sets_, truth), 2) == 91.05
    assert adjusted_rand_index(model.sets_, truth) == 1


def test_the_truth_is_needed():
    with pytest.raises(ValueError, match="needs the truth"):
        OSC(max_set_size=1).fit(np.eye(3))
