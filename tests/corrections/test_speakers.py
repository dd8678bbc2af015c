"""Names and clusters: who is whom, who is new, who is one."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.corrections import Claim, Corrections, Kind
from diarize.corrections.speakers import Corrected, correct_speakers, evidence
from diarize.errors import InputError
from diarize.sets import Speakers

CELLS = np.stack([np.arange(60) * 0.2, np.arange(1, 61) * 0.2], axis=1)
# Four voices of three seconds each; the clustering takes the last two for one.
VOICES = np.repeat(np.eye(4), 15, axis=0)
HALF = np.sqrt(0.5)
CLUSTERS = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, HALF, HALF]])
BEFORE = {0: "SPEAKER_00", 1: "SPEAKER_01", 2: "SPEAKER_02"}


def only(start: float, end: float, name: str) -> Claim:
    return Claim(start, end, name, Kind.ONLY)


def correct(*claims: Claim, least: int = 0, most: int | None = None) -> Corrected:
    found = Speakers(CLUSTERS, np.dot, 2)
    return correct_speakers(Corrections(claims), CELLS, VOICES, found, BEFORE, least, most)


def test_what_is_known_of_a_voice() -> None:
    told = Corrections(
        (only(0, 2, "ann"), Claim(4, 6, "ann"), Claim(5, 6, "ben"), Claim(8, 9, "x", Kind.ABSENT))
    )
    known = evidence(told, CELLS, ["ann", "ben"])
    heard = [np.flatnonzero(row).tolist() for row in known]
    assert heard == [[*range(10), *range(20, 25)], [*range(25, 30)]]  # ben is nowhere alone
    assert known[0, 5] > known[0, 1] > known[0, 0] > 0.1  # windows at the ends hear others, too
    assert known.max() <= 0.2 + 1e-9


def test_names_go_to_the_clusters_of_their_stretches() -> None:
    found = correct(only(0, 2, "ann"), only(3, 5, "ben"))
    assert found.names == ("ann", "ben", "SPEAKER_02")
    assert found.clusters == ([0], [1], [2])
    np.testing.assert_allclose(found.speakers.centroids, CLUSTERS, atol=1e-9)
    assert (len(found.speakers), found.speakers.largest) == (3, 2)


def test_a_name_for_which_no_cluster_is_left_founds_one() -> None:
    found = correct(only(6, 8.6, "carl"), only(9, 11, "dora"))
    assert found.names == ("carl", "dora", "SPEAKER_00", "SPEAKER_01")
    assert found.clusters == ([2], [], [0], [1])
    np.testing.assert_allclose(found.speakers.centroids[:2], np.eye(4)[2:], atol=1e-9)


def test_a_name_of_the_result_means_that_speaker() -> None:
    # 2 s of the first voice were given to the second speaker: its voice stays what it was.
    found = correct(only(0, 2, "SPEAKER_01"))
    assert found.names == ("SPEAKER_01", "SPEAKER_00", "SPEAKER_02")
    assert found.clusters == ([1], [0], [2])
    np.testing.assert_allclose(found.speakers.centroids, CLUSTERS[[1, 0, 2]], atol=1e-9)


def test_clusters_that_one_new_name_holds_are_joined() -> None:
    claims = only(0, 2, "ann"), only(3, 4.8, "ann")
    found = correct(*claims)
    assert (found.names, found.clusters) == (("ann", "SPEAKER_02"), ([0, 1], [2]))
    apart = correct(*claims, least=3)
    assert (apart.names, apart.clusters) == (("ann", "SPEAKER_01", "SPEAKER_02"), ([0], [1], [2]))
    claimed = correct(*claims, only(4.8, 5.8, "ben"))
    assert (claimed.names, claimed.clusters[:2]) == (("ann", "ben", "SPEAKER_02"), ([0], [1]))


def test_bounds_on_speakers() -> None:
    carl, dora = only(6, 8.6, "carl"), only(9, 11, "dora")
    found = correct(carl, dora, most=3)
    assert len(found.speakers) == 3
    assert found.names[:2] == ("carl", "dora")
    assert correct(carl, dora, most=2).names == ("carl", "dora")
    with pytest.raises(InputError, match="name 2 people, but there are at most 1 speakers"):
        correct(carl, dora, most=1)


def test_who_is_only_said_to_be_silent_is_nobody_new() -> None:
    found = correct(Claim(0, 1, "zoe", Kind.ABSENT), Claim(0, 1, "SPEAKER_01", Kind.ABSENT))
    assert found.names == ("SPEAKER_00", "SPEAKER_01", "SPEAKER_02")
    np.testing.assert_array_equal(found.speakers.centroids, CLUSTERS)


def test_speakers_where_a_clustering_found_none() -> None:
    nobody = Speakers(np.zeros((0, 4)), np.dot, 1)
    told = Corrections((only(0, 2, "ann"),))
    found = correct_speakers(told, CELLS, VOICES, nobody, {}, 0, None)
    assert found.names == ("ann",)
    np.testing.assert_allclose(found.speakers.centroids, np.eye(4)[:1], atol=1e-9)
    silent = Corrections((Claim(0, 1, "ann", Kind.ABSENT),))
    assert correct_speakers(silent, CELLS[:0], VOICES[:0], nobody, {}, 0, None).names == ()
