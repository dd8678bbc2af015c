from __future__ import annotations

import numpy as np
import pytest

from diarize.sets import SpeakerSets, enumerate_sets, to_sphere
from diarize.streaming.decoding import CONTEXT, LiveDecoder
from diarize.streaming.live_speakers import LiveSpeakers
from diarize.timeline import TimelineOptions


def unit(*places: int) -> np.ndarray:
    vector = np.zeros(4, np.float32)
    vector[list(places)] = 1
    return vector / np.linalg.norm(vector)


def voices(centroids: dict[int, np.ndarray], largest: int = 2) -> LiveSpeakers:
    """Speakers by their ids, and all sets of them."""
    places = np.stack([*centroids.values()]).astype(float)
    states = enumerate_sets(len(places), largest)
    composed = to_sphere(states.astype(float) @ places)
    return LiveSpeakers(tuple(centroids), SpeakerSets(states), composed)


def decoder(largest: int = 2, options: TimelineOptions | None = None) -> LiveDecoder:
    made = LiveDecoder(4, largest, options or TimelineOptions())
    made.know(voices({7: unit(0), 3: unit(1)}, largest))
    return made


def cells(begin: float, n: int) -> np.ndarray:
    edges = begin + 0.2 * np.arange(n + 1)
    return np.stack([edges[:-1], edges[1:]], axis=1)


def test_it_says_who_speaks_and_says_it_once() -> None:
    made = decoder()
    made.add(cells(0, 5), np.stack([unit(0)] * 5))
    assert made.decide(0.6) == [(0.0, 0.6, {7})]
    assert made.decide(0.6) == []
    assert made.decide(0.3) == []
    made.add(cells(1.0, 10), np.stack([unit(0, 1)] * 5 + [unit(1)] * 5))
    found = made.decide(3.0)
    assert [ids for _, _, ids in found] == [{7}, {3, 7}, {3}]
    assert found[0][0] == 0.6 and found[-1][1] == 3.0
    assert [e for _, e, _ in found[:2]] == pytest.approx([1.0, 2.0], abs=0.11)
    assert made.until == 3.0


def test_without_compositions_nobody_speaks_beside_another() -> None:
    made = decoder(largest=1)
    made.add(cells(0, 6), np.stack([unit(0)] * 3 + [unit(0, 1)] * 3))
    assert all(len(ids) == 1 for _, _, ids in made.decide(2.0))


def test_nobody_speaks_beside_another_by_closing_a_gap() -> None:
    options = TimelineOptions(switch=0.0, min_turn=0.0, min_gap=0.5)
    for largest, overlapped in ((1, 0.0), (2, pytest.approx(0.2, abs=0.05))):
        made = decoder(largest, options)
        made.add(cells(0, 7), np.stack([unit(0)] * 3 + [unit(1)] + [unit(0)] * 3))
        found = made.decide(2.0)
        assert sum(e - b for b, e, ids in found if len(ids) > 1) == overlapped


def test_how_many_were_heard_decides_where_voices_do_not() -> None:
    """Half-way between one voice and both, what was heard has the word."""
    middle = to_sphere((unit(0) + unit(0, 1)).astype(float))
    for n, expected in ((0, {7}), (1, {7}), (2, {3, 7})):
        made = decoder()
        made.add(cells(0, 5), np.stack([middle] * 5).astype(np.float32))
        if n:
            made.hear(np.tile(np.eye(4, dtype=np.float32)[n], (60, 1)))
        assert made.decide(1.0) == [(0.0, 1.0, expected)]


def test_a_border_lies_where_the_number_is_heard_to_change() -> None:
    made, one = decoder(), np.eye(4, dtype=np.float32)
    made.add(cells(0, 6), np.stack([unit(0)] * 3 + [unit(0, 1)] * 3))
    made.hear(np.concatenate([np.tile(one[1], (33, 1)), np.tile(one[2], (27, 1))]))
    (first, second) = made.decide(1.2)
    assert first == (0.0, pytest.approx(0.66), {7})
    assert second == (pytest.approx(0.66), pytest.approx(1.2), {3, 7})


def test_silence_is_passed_over() -> None:
    made = decoder()
    assert made.decide(5.0) == []
    made.add(cells(6.0, 3), np.stack([unit(1)] * 3))
    assert made.decide(7.0) == [(6.0, pytest.approx(6.6), {3})]


def test_what_was_decided_stays_when_clusters_change() -> None:
    made = decoder()
    made.add(cells(0, 10), np.stack([unit(0)] * 10))
    made.decide(1.0)
    made.know(voices({3: unit(1), 8: unit(0)}))
    assert made.decide(2.0) == [(1.0, 2.0, {8})]


def held(made: LiveDecoder) -> int:
    """Bytes of all arrays."""
    return sum(value.nbytes for value in vars(made).values() if isinstance(value, np.ndarray))


def test_memory_is_that_of_the_last_seconds() -> None:
    made, sizes = decoder(), []
    for i in range(100):
        made.hear(np.tile(np.eye(4, dtype=np.float32)[1], (10, 1)))
        if i < 50:  # then there is silence
            made.add(cells(0.2 * i, 1), unit(0)[None])
        made.decide(0.2 * i)
        sizes.append(held(made))
    assert max(sizes) <= 1.5 * sizes[round(CONTEXT / 0.2)]
    assert max(sizes[80:]) < sizes[49] / 2
