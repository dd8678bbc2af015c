import numpy as np
import pytest

from diarize.clustering import make
from diarize.refinement import refine, speaker_centroids
from diarize.sets import SpeakerSets
from diarize.timeline import TimelineOptions


def mean(a, b):
    m = a + b
    return m / np.linalg.norm(m, axis=-1, keepdims=True)


@pytest.fixture
def conversation():
    """Two voices take turns, overlap for a second, and the first returns."""
    rng = np.random.default_rng(0)
    truth = [[0]] * 20 + [[0, 1]] * 5 + [[1]] * 20 + [[0]] * 15
    places = np.eye(2, 16)
    composed = np.stack([mean(*places) if len(s) == 2 else places[s[0]] for s in truth])
    vectors = composed + rng.standard_normal((60, 16)) * 0.06
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    edges = np.arange(61) * 0.2
    return vectors, np.stack([edges[:-1], edges[1:]], axis=1), truth


@pytest.mark.parametrize("backend", ["ckm", "gcr"])
def test_sets_follow_the_conversation(conversation, backend):
    vectors, cells, truth = conversation
    estimator = make(backend, n_speakers=2, compose=mean, random_state=0).fit(vectors)
    refined, sets = refine(vectors, cells, estimator, TimelineOptions())
    assert sets.by_first_appearance().to_lists() == truth
    assert np.abs(refined - cells).max() < 0.2


def test_nobody_is_lost(conversation):
    vectors, cells, _ = conversation
    estimator = make("ac", n_speakers=5, max_set_size=1, random_state=0).fit(vectors)
    _, sets = refine(vectors, cells, estimator, TimelineOptions(switch=10.0))
    assert sets.membership.any(axis=0).all()


def test_nothing_stays_nothing():
    estimator = make("ac", max_set_size=1).fit(np.zeros((0, 4)))
    cells, sets = refine(np.zeros((0, 4)), np.zeros((0, 2)), estimator, TimelineOptions())
    assert len(cells) == len(sets) == 0


def test_centroids_are_taken_from_windows_of_one_speaker():
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    sets = SpeakerSets.from_lists([[0], [0], [0, 1]])
    otherwise = np.array([[9.0, 9.0], [0.8, 0.6]])
    found = speaker_centroids(vectors, sets, otherwise)
    np.testing.assert_allclose(found, [[2**-0.5, 2**-0.5], [0.8, 0.6]])
