"""Who can be heard live, before and after something was settled."""

from __future__ import annotations

from functools import partial

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diarize.clustering.composition import compose_sets
from diarize.clustering.links import LiveCluster
from diarize.sets import Speakers
from diarize.streaming.cast import MIN_LIVE, Cast

from ..making import unit_mean


def nobody(p: int, largest: int = 2) -> Speakers:
    return Speakers(np.zeros((0, p)), partial(compose_sets, unit_mean), largest)


def cluster(number: int, axis: int, size: int = 10) -> LiveCluster:
    return LiveCluster(number, size, np.eye(8)[axis])


def ids(clusters: list[LiveCluster]) -> list[int]:
    return [one.id for one in clusters]


def test_small_clusters_are_no_speakers_unless_there_is_nobody_else() -> None:
    cast = Cast(nobody(8))
    few = MIN_LIVE - 1
    assert ids(cast.of([cluster(0, 0, few), cluster(1, 1, few), cluster(2, 2, 1)])) == [0]
    assert ids(cast.of([cluster(0, 0, few), cluster(1, 1), cluster(2, 2, 20)])) == [2, 1]
    assert cast.of([]) == []


def test_a_settled_speaker_takes_over_the_id_it_was_spoken_of_by() -> None:
    cast = Cast(nobody(8))
    voices = {"SPEAKER_00": np.eye(8)[0], "SPEAKER_01": np.eye(8)[1]}
    # One cluster was two voices: the one who has more of its time keeps its id.
    cast.settle(voices, {5: {"SPEAKER_00": 3.0, "SPEAKER_01": 9.0}})
    found = cast.of([cluster(5, 2)])
    assert found[0].id < 0 and found[1].id == 5
    assert np.array_equal(found[1].centroid, voices["SPEAKER_01"])
    # And keeps it for good, whatever is said under it later.
    cast.settle(voices, {5: {"SPEAKER_00": 30.0}, 6: {"SPEAKER_00": 30.0}})
    assert ids(cast.of([])) == ids(found)


def test_clusters_near_a_settled_set_are_not_somebody_else() -> None:
    voices = {"SPEAKER_00": np.eye(8)[0], "SPEAKER_01": np.eye(8)[1]}
    both = LiveCluster(3, 10, unit_mean(*voices.values()))
    newcomer, early = cluster(4, 2), cluster(6, 3, MIN_LIVE - 1)
    for largest, expected in ((2, [4]), (1, [4])):
        cast = Cast(nobody(8, largest))
        cast.settle(voices, {0: {"SPEAKER_00": 1.0}, 1: {"SPEAKER_01": 1.0}})
        near = LiveCluster(2, 10, unit_mean(np.eye(8)[0], 0.2 * np.eye(8)[5]))
        found = cast.of([near, both, newcomer, early])
        assert ids(found) == [0, 1, *expected]


@given(
    st.lists(
        st.dictionaries(
            st.integers(0, 6),
            st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 100), max_size=4),
            max_size=5,
        ),
        max_size=5,
    ),
    st.data(),
)
def test_ids_are_never_shared_and_never_change(passes: list, data: st.DataObject) -> None:
    cast, before = Cast(nobody(8)), {}
    for shared in passes:
        names = data.draw(st.sets(st.sampled_from("abcdef"), min_size=1))
        voices = {name: np.eye(8)["abcdef".index(name)] for name in sorted(names)}
        cast.settle(voices, shared)
        found = cast.of([])
        assert len(set(ids(found))) == len(voices)
        for name, one in zip(voices, found, strict=True):
            assert before.setdefault(name, one.id) == one.id
    assert len(set(before.values())) == len(before)
