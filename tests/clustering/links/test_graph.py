"""The graph after every vector of many streams, and against a literal implementation."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from diarize.clustering.links.graph import FREE, LinkGraph
from diarize.clustering.links.stream import LinkStream
from diarize.clustering.links.thresholds import Thresholds

from ..conftest import unit
from .literal_links import LiteralLinks

ROUNDING = 1e-9


def draw_stream(seed: int, n: int = 40) -> tuple[np.ndarray, Thresholds]:
    """A noisy stream around a few centers, some of them near each other, some that drift."""
    rng = np.random.default_rng(seed)
    p, k = int(rng.integers(2, 9)), int(rng.integers(1, 6))
    centers = unit(rng.normal(size=(k, p)) + rng.uniform(0, 2) * rng.normal(size=p))
    drift = rng.uniform(0, 1) * rng.normal(size=(k, p))
    chosen = rng.integers(k, size=n)
    times = np.linspace(0, 1, n)[:, None]
    noise = rng.uniform(0.05, 1.5) * rng.normal(size=(n, p)) / np.sqrt(p)
    rows = unit(centers[chosen] + times * drift[chosen] + noise)
    cluster = rng.uniform(0.2, 0.9)
    pair = rng.uniform(cluster**2, 1)
    return rows, Thresholds(cluster, rng.uniform(max(0.3, pair - 0.2), 0.98), pair)


def make_stream(thresholds: Thresholds, dimension: int, room: int = 1000) -> LinkStream:
    return LinkStream(
        thresholds, dimension, compose=None, max_set_size=1, min_size=1, max_subclusters=room
    )


def check(graph: LinkGraph, n_vectors: int) -> None:
    """All that must hold after every vector."""
    slots, used = graph.slots, graph.used
    assert sorted([*slots.tolist(), *graph.free]) == list(range(used))
    assert graph.n_subclusters == len(slots)
    assert graph.counts[slots].sum() == n_vectors and (graph.counts[slots] > 0).all()
    assert len(set(graph.serials[slots].tolist())) == len(slots)
    lengths = np.linalg.norm(graph.sums[slots], axis=1)
    assert np.allclose(graph.centroids[slots] * lengths[:, None], graph.sums[slots])
    for slot in graph.free:
        assert graph.owners[slot] == graph.serials[slot] == FREE
        assert not graph.edges[slot] and not graph.sums[slot].any()

    edges = [(a, b) for a in range(used) for b in graph.edges[a]]
    assert all(a in graph.edges[b] and a != b for a, b in edges)
    for a, b in edges:
        bound = graph.thresholds.of_pair(graph.counts[a], graph.counts[b])
        assert graph.centroids[a] @ graph.centroids[b] >= bound - ROUNDING  # (22)
    products = graph.centroids[slots] @ graph.centroids[slots].T
    np.fill_diagonal(products, -1)
    counts = graph.counts[slots]
    linkable = products >= graph.thresholds.of_pair(counts[:, None], counts) + ROUNDING
    assert products[linkable].max(initial=-1) < graph.thresholds.subcluster + ROUNDING

    a, b = np.array(edges, dtype=np.int64).reshape(-1, 2).T
    links = coo_array((np.ones(len(a)), (a, b)), shape=(used, used))
    components = connected_components(links, directed=False)[1][slots]
    pairs = set(zip(components.tolist(), graph.owners[slots].tolist(), strict=True))
    assert len(pairs) == len(set(components.tolist())) == len(graph.sizes)
    assert {owner for _, owner in pairs} == set(graph.sizes) == set(graph.totals)
    assert set(graph.changes) == set(graph.sizes)
    for cluster, size in graph.sizes.items():
        own = slots[graph.owners[slots] == cluster]
        assert graph.counts[own].sum() == size
        assert np.allclose(graph.sums[own].sum(axis=0), graph.totals[cluster])

    for cluster in range(len(graph.replaced)):
        assert graph.current(cluster) in graph.sizes
        assert (cluster in graph.sizes) == (graph.replaced[cluster] == cluster)
    for serial in range(len(graph.merged)):
        assert graph.owners[graph.slot_of(serial)] != FREE


@settings(max_examples=60)
@given(st.integers(0, 2**40))
def test_everything_holds_after_every_vector(seed: int) -> None:
    rows, thresholds = draw_stream(seed)
    stream = make_stream(thresholds, rows.shape[1])
    given_ids: set[int] = set()
    for n, x in enumerate(rows, start=1):
        (answer,) = stream.answer(stream.push(x))
        check(stream.graph, n)
        assert answer in stream.graph.sizes
        given_ids.add(answer)
    assert given_ids <= set(range(len(stream.graph.replaced)))


@settings(max_examples=60)
@given(st.integers(0, 2**40))
def test_a_literal_implementation_gives_the_same_ids(seed: int) -> None:
    rows, thresholds = draw_stream(seed, n=60)
    stream = make_stream(thresholds, rows.shape[1])
    literal = LiteralLinks(thresholds.cluster, thresholds.subcluster, thresholds.pair)
    for x in rows:
        assert stream.answer(stream.push(x)) == (literal.push(x),)
    graph = stream.graph
    assert {graph.slot_of(j): i for j, i in literal.ids.items()} == {
        int(slot): int(graph.owners[slot]) for slot in graph.slots
    }


def test_the_streams_of_these_tests_merge_split_and_rejoin() -> None:
    merged = united = born = rejoined = 0
    for seed in range(60):
        rows, thresholds = draw_stream(seed)
        stream = make_stream(thresholds, rows.shape[1])
        for x in rows:
            n_ids, n_serials = len(stream.graph.replaced), len(stream.graph.merged)
            degrees = sum(map(len, stream.graph.edges))
            stream.push(x)
            graph = stream.graph
            opened = len(graph.merged) > n_serials
            born += not opened and len(graph.replaced) > n_ids
            rejoined += not opened and sum(map(len, graph.edges)) == degrees
        merged += sum(i != j for i, j in enumerate(graph.merged))
        united += sum(i != j for i, j in enumerate(graph.replaced))
    assert min(merged, united, born, rejoined) > 10


@settings(max_examples=40)
@given(
    st.lists(st.tuples(*[st.integers(-2, 2)] * 3).filter(any), min_size=1, max_size=30),
    st.sampled_from([(0.5, 0.7, 0.9), (0.7, 0.5, 0.5), (0.9, 1.0, 1.0), (0.3, 0.99, 0.1)]),
)
def test_ties_and_opposite_vectors_break_nothing(rows, values) -> None:
    stream = make_stream(Thresholds(*values), 3)
    for n, x in enumerate(unit(np.array(rows, dtype=np.float64)), start=1):
        stream.push(x)
        check(stream.graph, n)


@settings(max_examples=40)
@given(st.integers(0, 2**40), st.integers(2, 6))
def test_room_for_few_subclusters_is_enough(seed: int, room: int) -> None:
    rows, thresholds = draw_stream(seed)
    stream = make_stream(thresholds, rows.shape[1], room)
    for n, x in enumerate(rows, start=1):
        place = stream.push(x)
        check(stream.graph, n)
        assert stream.graph.n_subclusters <= room
        assert stream.answer(place)[0] in stream.graph.sizes


@pytest.mark.parametrize("dimension", [128, 256])
def test_the_centroid_converges(dimension: int) -> None:  # (14)
    rng = np.random.default_rng(0)
    center = np.eye(dimension)[0]
    across = rng.normal(size=(3000, dimension))
    across[:, 0] = 0
    graph = LinkGraph(Thresholds(0.7, 0.05, 1.0), dimension)
    slot, before = FREE, 0.0
    for n, x in enumerate(0.7 * center + np.sqrt(0.51) * unit(across), start=1):
        slot = graph.open(x) if n == 1 else graph.add(slot, x)
        if n in (10, 100, 3000):
            similarity = float(graph.centroids[slot] @ center)
            expected = n * 0.7 / np.sqrt(n**2 * 0.49 + n * 0.51)  # from (12)
            assert similarity == pytest.approx(expected, abs=0.02) and similarity > before
            before = similarity
    assert before > 0.999


def test_the_larger_part_keeps_the_id() -> None:
    # Two directions at 60 degrees, one subcluster each, joined when they were young.
    a, b = np.array([1.0, 0.0]), np.array([0.5, 3**0.5 / 2])
    for first, second in ((a, b), (b, a)):
        graph = LinkGraph(Thresholds(0.6, 0.9, 1.0), 2)
        one = graph.open(first)
        two = graph.open(second, one)
        assert graph.owners[[one, two]].tolist() == [0, 0]
        for _ in range(5):
            graph.add(two, second)
        assert graph.counts[two] > graph.counts[one]
        assert graph.owners[[one, two]].tolist() == [1, 0]  # the first founder moved out
        assert graph.current(0) == 0 and graph.current(1) == 1


def test_of_two_clusters_the_larger_answers_for_both() -> None:
    graph = LinkGraph(Thresholds(0.9, 0.95, 0.95), 2)
    small = graph.open(np.array([1.0, 0.0]))
    large = graph.open(np.array([0.8, 0.6]))
    assert graph.owners[[small, large]].tolist() == [0, 1]
    for angle in np.linspace(0.6, -0.1, 30):
        large = graph.add(large, np.array([np.cos(angle), np.sin(angle)]))
    assert list(graph.sizes) == [1] and graph.current(0) == 1
    assert graph.slot_of(0) == graph.slot_of(1) == large
    assert graph.open(np.array([-1.0, 0.0])) != large
    assert list(graph.sizes) == [1, 2]  # no id is used twice


def test_two_voices_that_are_alike_stay_two() -> None:
    """Their means are nearer than T_s, and no edge between them would hold."""
    rng = np.random.default_rng(0)
    centers = np.zeros((2, 128))
    centers[:, 0] = 1.0
    centers[1, :2] = 0.87, np.sqrt(1 - 0.87**2)
    across = unit(rng.normal(size=(2, 200, 128)))
    rows = unit(0.9 * centers[:, None] + np.sqrt(1 - 0.9**2) * across)  # (voices, vectors, p)
    stream = make_stream(Thresholds(0.9, 0.85, 0.95), 128)
    for both in rows.swapaxes(0, 1):
        for x in both:
            stream.push(x)
    graph = stream.graph
    assert sorted(graph.sizes.values()) == [200, 200]
    one, other = (graph.totals[cluster] for cluster in sorted(graph.sizes))
    assert 0.85 < unit(one) @ unit(other) < 0.95
