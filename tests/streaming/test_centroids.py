"""Speakers that are found while people speak."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.errors import InputError
from diarize.scatter import Scatter
from diarize.sets import SpeakerSets, to_sphere
from diarize.streaming.centroids import CentroidOptions, LiveCentroids

P = 64
SCATTER = Scatter(variance=0.38, dimension=25.0, rows_per_observation=3.0, most_rows=400)


def mean(a, b):
    middle = a + b
    return middle / np.linalg.norm(middle, axis=-1, keepdims=True)


def live(max_set_size: int = 2, most: int | None = None, **options: float) -> LiveCentroids:
    return LiveCentroids(P, max_set_size, mean, SCATTER, most, CentroidOptions(**options))


def around(*axes: int, n: int, seed: int = 0) -> np.ndarray:
    """Windows of the people on these axes, as far from them as those of one voice are."""
    noise = np.random.default_rng(seed).normal(0, (0.38 / 25) ** 0.5, (n, P))
    noise[:, 25:] = 0
    return to_sphere(np.eye(P)[list(axes)].sum(axis=0) / len(axes) ** 0.5 + noise).astype(
        np.float32
    )


def test_whoever_speaks_first_is_somebody_at_once() -> None:
    made = live()
    made.take(around(0, n=1))
    voices = made.speakers()
    assert voices.ids == (0,) and voices.states.to_lists() == [[0]]
    assert voices.places.shape == (1, P)


def test_one_voice_stays_one_speaker() -> None:
    made = live()
    for seed in range(30):
        made.take(around(40, n=10, seed=seed))
    assert made.speakers().ids == (0,) and not made.became


def test_somebody_new_is_born_and_keeps_the_id() -> None:
    made = live()
    made.take(around(40, n=30))
    made.take(around(41, n=10, seed=1))
    assert made.speakers().ids == (0, 1)
    made.take(around(40, n=30, seed=2))
    made.take(around(42, n=12, seed=3))
    voices = made.speakers()
    assert voices.ids == (0, 1, 2) and not made.became
    assert np.argmax(voices.places[:3], axis=1).tolist() == [40, 41, 42]
    assert len(voices.states) == 6


def test_two_at_once_are_not_a_third() -> None:
    made = live()
    for axes, seed in (((40,), 0), ((41,), 1), ((40, 41), 2), ((40,), 3), ((40, 41), 4)):
        made.take(around(*axes, n=20, seed=seed))
    assert made.speakers().ids == (0, 1)


def test_without_compositions_there_are_no_pairs() -> None:
    made = live(max_set_size=1)
    made.take(around(40, n=20))
    made.take(around(41, n=20, seed=1))
    assert made.speakers().states.to_lists() == [[0], [1]]


def test_who_turns_out_to_be_another_becomes_that_one() -> None:
    """Of one voice, two were thought to be heard; the name stays under which it was first."""
    for order in ((0, 1), (1, 0)):
        made = live()
        made.take(around(40, n=30))
        made._bear(np.concatenate([made._centroids, around(40, n=1, seed=9).astype(np.float64)]))
        made._centroids = made._centroids[list(order)]
        assert made.speakers().ids == (0, 1)
        made.take(around(40, n=10, seed=1))
        assert made.speakers().ids == (0,) and made.became == {1: 0}
        made.take(around(41, n=10, seed=2))
        assert made.speakers().ids == (0, 2)  # no id is used twice


def test_no_more_speakers_are_heard_than_there_may_be() -> None:
    made = live(most=2)
    for axis in range(40, 45):
        made.take(around(axis, n=20, seed=axis))
    assert len(made.speakers().ids) == 2


def test_memory_is_bounded_and_keeps_who_speaks_little() -> None:
    made = live(memory=60)
    made.take(around(40, n=12))
    for seed in range(20):
        made.take(around(41, n=20, seed=seed))
    assert len(made._rows) == 60
    assert made.speakers().ids == (0, 1)
    assert np.argmax(made.speakers().places[0]) == 40


def test_it_does_not_matter_how_many_windows_come_at_a_time() -> None:
    rows = np.concatenate([around(40 + i % 3, n=15, seed=i) for i in range(6)])
    whole, single = live(), live()
    whole.take(rows)
    for row in rows:
        single.take(row[None])
    assert np.array_equal(whole.speakers().places, single.speakers().places)
    assert whole.speakers().ids == single.speakers().ids and whole.became == single.became


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"count_penalty": 0.0}, "count_penalty"),
        ({"count_penalty": float("nan")}, "count_penalty"),
        ({"memory": 3}, "memory"),
    ],
)
def test_options_that_cannot_be_used(options: dict, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        CentroidOptions(**options)


def told(*found: tuple[int, ...], n: int = 40) -> tuple[np.ndarray, SpeakerSets, np.ndarray]:
    """A review: windows of the people on these axes, whom each holds, and where they lie."""
    axes = sorted({axis for axis in sum(found, ())})
    rows = np.concatenate([around(axis, n=n) for group in found for axis in group])
    held = np.repeat([i for i, group in enumerate(found) for _ in group], n)
    sets = SpeakerSets(np.eye(len(found), dtype=bool)[held])
    places = [np.eye(P)[list(group)].sum(axis=0) for group in found]
    assert len(axes) == sum(map(len, found))
    return rows, sets, to_sphere(np.stack(places))


def test_a_review_says_who_is_one_and_who_is_new() -> None:
    made = live()
    for axis in (40, 41, 42):
        made.take(around(axis, n=20, seed=axis))
    assert made.speakers().ids == (0, 1, 2)
    made.learn(*told((40, 41), n=10), after=made.taken)
    assert made.speakers().ids == (0, 1, 2)  # of so little sound nobody goes
    made.learn(*told((40, 41)), after=made.taken)
    # The name stays that was first, and so does who is not among these windows.
    assert made.speakers().ids == (0, 2) and made.became == {1: 0}
    made.learn(*told((40,), (41,), (42,)), after=made.taken)
    voices = made.speakers()
    assert voices.ids[2] == 2 and 0 in voices.ids and max(voices.ids) > 2
    assert np.argmax(voices.places[:3], axis=1).tolist() == [40, 41, 42]


def test_only_what_was_heard_since_a_review_tells_of_somebody_new() -> None:
    made = live()
    made.take(around(40, n=30))
    made.take(around(41, n=30, seed=1))
    assert made.speakers().ids == (0, 1)
    made.learn(*told((40, 41)), after=made.taken)
    made.take(around(41, n=5, seed=2))
    assert len(made.speakers().ids) == 1
    made.learn(*told((40,), (41,)), after=made.taken)
    made.take(around(42, n=20, seed=3))
    assert len(made.speakers().ids) == 3


def test_a_review_of_strangers_leaves_no_more_than_can_be_decoded_among() -> None:
    made = live(most=2)
    for axis in (40, 41):
        made.take(around(axis, n=20, seed=axis))
    made.learn(*told((43,), (44,)), after=made.taken)
    assert len(made.speakers().ids) == 2
