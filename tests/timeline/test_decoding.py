import numpy as np
import pytest

from diarize.clustering import make
from diarize.scatter import Likeness
from diarize.sets import Speakers, SpeakerSets
from diarize.timeline import TimelineOptions, Trellis, decode
from diarize.timeline.decoding import heard_alone
from diarize.voices.vectors import Voiceprints

from ..making import unit_mean
from .conftest import decoded


@pytest.mark.parametrize("backend", ["ckm", "gcr"])
def test_sets_follow_the_conversation(conversation, backend):
    vectors, cells, truth = conversation
    estimator = make(backend, n_speakers=2, compose=unit_mean, random_state=0).fit(vectors)
    found = decoded(vectors, cells, estimator)
    assert found.sets.by_first_appearance().to_lists() == truth
    times = sorted(time for turn in found.turns for time in turn[:2])
    assert times == pytest.approx(
        [0, 4, 5, 5, 9, 9, 12] if len(times) == 7 else [0, 4, 5, 9, 9, 12], abs=0.2
    )


def test_nobody_is_lost(conversation):
    vectors, cells, _ = conversation
    estimator = make("ac", n_speakers=5, max_set_size=1, random_state=0).fit(vectors)
    assert decoded(vectors, cells, estimator, switch=10.0).sets.membership.any(axis=0).all()


def test_nothing_stays_nothing():
    estimator = make("ac", max_set_size=1).fit(np.zeros((0, 4)))
    found = decoded(np.zeros((0, 4)), np.zeros((0, 2)), estimator)
    assert (len(found.sets), found.turns, found.names) == (0, [], {})


def test_centroids_are_taken_from_windows_of_one_speaker():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    sets = SpeakerSets.from_lists([[0], [0], [0, 1]])
    before = Speakers(np.array([[9.0, 9.0], [0.8, 0.6]]), np.dot, 2)
    cells = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    trellis = Trellis.of(cells, vectors, before.sets(), None, TimelineOptions())
    np.testing.assert_allclose(
        heard_alone(trellis.vectors, sets, before).centroids, [[2**-0.5, 2**-0.5], [0.8, 0.6]]
    )


def test_who_is_not_known_keeps_the_number_unless_somebody_else_bears_it(conversation):
    vectors, cells, _ = conversation
    estimator = make("ckm", n_speakers=2, compose=unit_mean, random_state=0).fit(vectors)
    found = decoded(vectors, cells, estimator)
    second = found.monologues.voiceprints().centroids[1:]
    for name, names in (
        ("anna", ("SPEAKER_00", "anna")),
        ("SPEAKER_00", ("SPEAKER_02", "SPEAKER_00")),
    ):
        named = found.named_after(Voiceprints((name,), second), Likeness())
        assert tuple(named.names.values()) == names


def test_sets_that_are_told_are_not_looked_for(conversation):
    vectors, cells, truth = conversation
    estimator = make("oracle", compose=unit_mean).fit(vectors, truth)
    found = decoded(vectors[::-1], cells, estimator, min_turn=0.0, min_gap=0.0)
    assert found.sets.to_lists() == truth
    expected = [(0.0, 5.0, 0), (4.0, 9.0, 1), (9.0, 12.0, 0)]
    np.testing.assert_allclose(found.turns, expected)
    annotation = found.annotation("talk")
    assert annotation.uri == "talk" and set(annotation.itertracks()) == set(found.tracks)
    assert [annotation[track] for track in found.tracks] == [
        "SPEAKER_00", "SPEAKER_01", "SPEAKER_00"
    ]  # fmt: skip


def test_who_is_heard_only_in_scraps_is_nobody(conversation):
    """As long as nobody has said that there are so many."""
    vectors, cells, _ = conversation
    vectors[[10, 50]] = np.eye(16)[5]  # a fifth of a second each
    speakers = Speakers(np.eye(16)[[0, 1, 5]], lambda places, sets: sets @ places, 1)
    options = TimelineOptions(switch=0.0)
    trellis = Trellis.of(cells, vectors, speakers.sets(), None, options)
    assert len(decode(trellis, speakers).names) == 2
    assert len(decode(trellis, speakers, least=3).names) == 3
