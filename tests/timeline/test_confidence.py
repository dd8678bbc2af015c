"""What a turn's confidence says: how clear its cells are, and what that was found to mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from diarize.clustering import make
from diarize.embedding import Knowledge
from diarize.sets import SpeakerSets
from diarize.timeline import Decoded, TimelineOptions, Trellis, decode
from diarize.timeline.confidence import (
    HEARD,
    calibrated,
    certainty,
    confidences,
    one_person,
    speaker_posteriors,
    turn_shares,
)
from diarize.timeline.decoding import Heard
from diarize.voices.number import Doubts

from ..making import cells


def conversation() -> tuple[np.ndarray, SpeakerSets]:
    """Two voices, each clear at first and then half-way to the other."""
    ways = np.concatenate([np.zeros(10), np.full(10, 0.4), np.ones(10), np.full(10, 0.6)])
    angles = ways * np.pi / 2
    rows = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return rows, SpeakerSets.from_labels(np.repeat([0, 1], 20))


def test_clear_turns_are_surer() -> None:
    rows, sets = conversation()
    estimator = make("ac", n_speakers=2, max_set_size=1).fit(rows)
    found = [(0.0, 2.0, 0), (2.0, 4.0, 0), (4.0, 6.0, 1), (6.0, 8.0, 1), (0.0, 2.0, 1)]
    options, speakers = TimelineOptions(switch=0.0), estimator.speakers()
    trellis = Trellis.of(cells(40, 0.2), rows, speakers.sets(), None, options)
    decoded = Decoded(found, {}, trellis, sets, speakers)
    sure = confidences(decoded, Knowledge())
    assert ((sure > 0) & (sure < 1)).all()
    assert sure[0] > sure[1] > sure[4]
    assert sure[2] > sure[3] > sure[4]
    named = replace(decoded, names={0: "a", 1: "b"})
    doubted = Doubts(("a", "b"), np.array([0.0, 0.5]), np.array([0.4, 0.0]))
    less = confidences(named, Knowledge(), doubted)
    np.testing.assert_allclose(less[[0, 2]], one_person(doubted) * sure[[0, 2]])
    assert (less < sure).all()
    probable = speaker_posteriors(decoded, 5.0)
    np.testing.assert_allclose(probable.sum(axis=1), 1)  # no overlap is known here


def test_the_number_is_certain_where_it_was_told() -> None:
    rows, sets = conversation()
    speakers = make("ac", n_speakers=2, max_set_size=1).fit(rows).speakers()
    trellis = Trellis.of(cells(40, 0.2), rows, speakers.sets(), None, TimelineOptions())
    found = decode(trellis, speakers)
    inferred, told = certainty(found, Knowledge()), certainty(found, Knowledge(), 2, 2)
    assert set(inferred.confidence) == set(told.confidence) == set(found.tracks)
    assert told.number == {2: 1.0} and sum(inferred.number.values()) == pytest.approx(1)
    assert set(certainty(found, Knowledge(), 2).number) <= {2, 3, 4}
    true = certainty(replace(found, speakers=replace(speakers, told=sets)), Knowledge())
    assert true.number == {2: 1.0} and not true.doubted.names


def test_the_network_says_how_sure_a_turn_is() -> None:
    rows, sets = conversation()
    speakers = make("ac", n_speakers=2, max_set_size=1).fit(rows).speakers()
    trellis = Trellis.of(cells(40, 0.2), rows, speakers.sets(), None, TimelineOptions())
    probable = np.array([[0.9, 0.1], [0.5, 0.6]], np.float32).repeat(4, axis=0)
    heard = Heard(cells(8), probable)  # of half a second each
    said = [(0.0, 2.0, 0), (2.0, 4.0, 0), (1.0, 3.0, 1)]
    found = Decoded(said, {0: "a", 1: "b"}, trellis, sets, speakers, heard)
    sure = confidences(found, Knowledge())
    share = np.array([0.9, 0.5, 0.35])
    np.testing.assert_allclose(sure, 1 / (1 + (1 - share) / share * np.exp(-HEARD)), rtol=1e-5)
    certain = trellis.certain.copy()
    certain[:10, 0] = True  # a person says so of the first two seconds
    told = replace(found, trellis=replace(trellis, certain=certain))
    assert confidences(told, Knowledge())[0] == pytest.approx(1)
    doubted = Doubts(("a", "b"), np.array([0.0, 0.5]), np.zeros(2))
    assert (confidences(found, Knowledge(), doubted) < sure).tolist() == [False, False, True]


def test_nobody_speaks() -> None:
    speakers = make("ac", max_set_size=1).fit(np.zeros((0, 4))).speakers()
    options, nobody = TimelineOptions(), SpeakerSets(np.zeros((0, 0), bool))
    trellis = Trellis.of(np.zeros((0, 2)), np.zeros((0, 4)), nobody, None, options)
    found = Decoded([], {}, trellis, nobody, speakers)
    assert confidences(found, Knowledge()).size == 0
    assert certainty(found, Knowledge()).number == {0: 1.0}


def test_a_share_is_the_mean_over_the_time_that_cells_and_turn_share() -> None:
    where = np.array([[0.0, 1.0], [1.0, 2.0], [3.0, 4.0]])
    probable = np.array([[1.0, 0.1], [0.5, 0.2], [0.0, 0.3]])
    found = [(0.0, 2.0, 0), (0.5, 2.0, 0), (1.5, 3.5, 0), (0.0, 4.0, 1), (3.5, 3.6, 1)]
    shares = turn_shares(found, where, probable)
    np.testing.assert_allclose(shares, [0.75, 1 / 1.5, 0.25, 0.2, 0.3])


def test_the_logistic() -> None:
    found = calibrated(np.array([0.0, 0.5, 1.0]), 4.0, -2.0)
    np.testing.assert_allclose(found, 1 / (1 + np.exp([2.0, 0.0, -2.0])))
