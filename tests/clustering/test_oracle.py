"""The oracle answers what it was told."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from diarize.clustering.oracle import OSC, Oracle
from diarize.scoring import adjusted_rand_index, compositional_rand_index
from diarize.sets import SpeakerSets

from .conftest import unit, unit_mean


def test_the_truth_comes_back_with_speakers_in_order_of_appearance():
    rows = np.arange(8.0).reshape(4, 2)
    model = Oracle(compose=unit_mean).fit(rows, [[2], [2, 0], [], [0]])
    assert model.sets_.to_lists() == [[0], [0, 1], [], [1]]
    assert model.labels_.tolist() == [0, 1, 2, 3]
    assert model.n_speakers_ == 2
    assert model.centroids_.tolist() == [[0, 1], [6, 7]]  # where they are alone


def test_a_speaker_who_is_never_alone_has_the_mean_of_all_his_rows():
    rows = unit(np.array([[1.0, 0.0], [0.0, 1.0]]))
    truth = SpeakerSets.from_lists([[0, 1], [0, 1]])
    model = Oracle(max_set_size=1).fit(rows, truth)
    assert model.sets_ == truth
    assert np.allclose(model.centroids_, 2**-0.5)


def test_the_truth_is_needed_and_must_fit():
    rows = np.eye(3)
    with pytest.raises(ValueError, match="needs the truth"):
        Oracle(max_set_size=1).fit(rows)
    with pytest.raises(ValueError, match="truth has 2 rows, but there are 3"):
        Oracle(max_set_size=1).fit(rows, [[0], [1]])
    with pytest.raises(ValueError, match="not one number of each"):
        Oracle(max_set_size=1).fit(rows, [0, 1, 0])
    with pytest.raises(ValueError, match="whole numbers"):
        Oracle(max_set_size=1).fit(rows, np.array([[0.5], [1.0], [0.0]]))
    with pytest.raises(ValueError, match="not one number of each"):
        Oracle(max_set_size=1).fit(rows, np.array([0, 1, 0]))


def test_the_truth_may_be_an_array_of_who_is_in_each_row():
    truth = np.array([[True, False], [True, True], [False, False]])
    for given in (truth, truth.astype(int), truth.tolist()):
        assert Oracle(max_set_size=1).fit(np.eye(3), given).sets_.to_lists() == [[0], [0, 1], []]
    column = np.array([[0], [1], [1]])
    assert Oracle(max_set_size=1).fit(np.eye(3), column).sets_.to_lists() == [[0], [1], [1]]


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
