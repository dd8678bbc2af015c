"""The estimator: answers at once, hindsight at the end."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.clustering.links import Links
from diarize.clustering.links.estimator import BLOCK, unit_rows
from diarize.scoring import adjusted_rand_index

from ..conftest import unit, unit_mean


def same_clusters(one, other):
    pairs = list(zip(one.live_clusters(), other.live_clusters(), strict=True))
    return all(a[:2] == b[:2] and np.array_equal(a.centroid, b.centroid) for a, b in pairs)


def test_speakers_and_their_overlap_are_found(make_world) -> None:
    world = make_world(n=160, k=4, share=0.3)
    order = np.argsort(world.truth.sizes + (np.arange(160) >= 40), kind="stable")  # alone first
    rows, truth = world.rows[order], world.truth[order]
    links = Links(compose=unit_mean, T_c=0.9, T_s=0.9).fit(rows)
    assert links.n_speakers_ == 4
    assert adjusted_rand_index(links.sets_, truth) == 1
    alone = Links(max_set_size=1, T_c=0.9, T_s=0.9).fit(rows)
    assert alone.n_speakers_ > 4 and (alone.sets_.sizes == 1).all()


def test_answers_come_at_once_and_are_those_of_fit(make_world) -> None:
    world = make_world(n=60)
    replayed = Links(compose=unit_mean).fit(world.rows)
    live = Links(compose=unit_mean)
    one_by_one = [live.partial_fit(x) for x in world.rows]
    assert one_by_one == replayed.answers_ == Links(compose=unit_mean).partial_fit(world.rows)
    assert same_clusters(live, replayed)


def test_fit_begins_anew_and_partial_fit_goes_on(make_world) -> None:
    world = make_world(n=60)
    links = Links(compose=unit_mean)
    links.partial_fit(world.rows[30:])
    assert links.fit(world.rows[:30]).answers_ == Links(compose=unit_mean).partial_fit(
        world.rows[:30]
    )
    links.partial_fit(world.rows[30:])
    assert same_clusters(links, Links(compose=unit_mean).fit(world.rows))


def test_a_mixture_that_came_first_is_a_set_in_the_end() -> None:
    a, b = np.eye(8)[:2]
    rows = [unit(a + b), *[a] * 5, *[b] * 5, unit(a + b)]
    links = Links(compose=unit_mean, T_c=0.9, T_s=0.9)
    assert links.partial_fit(rows) == [(0,), *[(1,)] * 5, *[(2,)] * 5, (0,)]
    assert links.fit(rows).sets_.to_lists() == [[0, 1], *[[0]] * 5, *[[1]] * 5, [0, 1]]


def test_the_clusters_of_the_moment() -> None:
    links = Links(max_set_size=1)
    assert links.live_clusters() == []
    links.partial_fit(np.repeat(np.eye(3)[:2], [2, 3], axis=0))
    assert [(cluster.id, cluster.size) for cluster in links.live_clusters()] == [(0, 2), (1, 3)]
    assert np.array_equal([c.centroid for c in links.live_clusters()], np.eye(3)[:2])


def test_only_the_direction_of_a_row_counts() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(BLOCK + 5, 3))
    scales = 10.0 ** rng.integers(-90, 90, size=(len(rows), 1))
    assert np.allclose(np.stack(list(unit_rows(rows * scales))), unit(rows))
    assert np.allclose(np.stack(list(unit_rows(np.zeros((2, 4))))), 0.5)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({"T_c": 1.5}, "T_c must lie"),
        ({"T_p": 0.1}, "T_p must lie"),
        ({"min_size": 0}, "min_size must be an integer"),
        ({"max_subclusters": 1}, "max_subclusters must be an integer of at least 2"),
        ({"max_set_size": 2}, "needs a composition function"),
    ],
)
def test_options_are_checked_before_the_first_row(params, reason) -> None:
    for use in (Links.fit, Links.partial_fit):
        with pytest.raises(ValueError, match=reason):
            use(Links(**{"max_set_size": 1, **params}), np.eye(3))


def test_rows_of_another_dimension_are_refused() -> None:
    links = Links(max_set_size=1)
    links.partial_fit(np.eye(3))
    with pytest.raises(ValueError, match="X has 4 features, but Links is expecting 3 features"):
        links.partial_fit(np.eye(4)[0])
    with pytest.raises(ValueError, match="row 0 of X holds NaN"):
        links.partial_fit(np.full(3, np.nan))
