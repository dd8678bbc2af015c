"""What a vector is answered with: a cluster, or a set of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diarize.clustering.links.stream import LinkStream
from diarize.clustering.links.thresholds import Thresholds

from ..conftest import unit, unit_mean


def make_stream(max_set_size: int = 2, dimension: int = 16, **values) -> LinkStream:
    options = {"compose": unit_mean, "min_size": 3, "max_subclusters": 100, **values}
    return LinkStream(Thresholds(0.6, 0.85, 0.9), dimension, max_set_size=max_set_size, **options)


def near(center: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return unit(center + 0.1 * rng.normal(size=center.shape) / np.sqrt(len(center)))


def test_overlap_is_a_set_and_founds_nobody() -> None:
    rng, voices = np.random.default_rng(0), np.eye(16)
    stream = make_stream()
    first = [stream.answer(stream.push(near(voices[i % 3], rng))) for i in range(9)]
    assert first == [(0,), (1,), (2,)] * 3
    before = {i: total.copy() for i, total in stream.graph.totals.items()}
    for a, b in ((0, 1), (1, 2), (0, 2)):
        mixture = near(unit(voices[a] + voices[b]), rng)
        assert stream.answer(stream.push(mixture)) == (a, b)
    assert stream.graph.n_subclusters == 3
    assert all(np.array_equal(before[i], stream.graph.totals[i]) for i in before)


def test_without_compositions_overlap_founds_a_subcluster() -> None:
    rng, voices = np.random.default_rng(0), np.eye(16)
    stream = make_stream(max_set_size=1, compose=None)
    for i in range(9):
        stream.push(near(voices[i % 3], rng))
    (answer,) = stream.answer(stream.push(near(unit(voices[0] + voices[1]), rng)))
    assert stream.graph.n_subclusters == 4 and answer in (0, 1, 3)


def test_a_voice_that_is_hardly_known_is_not_composed() -> None:
    rng, voices = np.random.default_rng(0), np.eye(16)
    stream = make_stream(min_size=4)
    for i in range(7):  # 4 of one, 3 of the other
        stream.push(near(voices[i % 2], rng))
    assert len(stream.answer(stream.push(near(unit(voices[0] + voices[1]), rng)))) == 1


@settings(max_examples=30)
@given(st.integers(0, 2**40))
def test_rotation_changes_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = unit(
        unit(rng.normal(size=(4, 16)))[rng.integers(4, size=60)]
        + 0.7 * rng.normal(size=(60, 16)) / 4
    )
    turn = np.linalg.qr(rng.normal(size=(16, 16)))[0]
    plain, turned = make_stream(), make_stream()
    for x, y in zip(rows, rows @ turn, strict=True):
        assert plain.answer(plain.push(x)) == turned.answer(turned.push(y))


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 0, 2)])
def test_an_order_of_far_clusters_permutes_ids_alone(order: tuple[int, ...]) -> None:
    rng, voices = np.random.default_rng(1), np.eye(16)
    streams = [[near(voices[i], rng) for _ in range(20)] for i in range(3)]
    stream = make_stream()
    for step in range(20):
        for position, voice in enumerate(order):
            assert stream.answer(stream.push(streams[voice][step])) == (position,)
