"""The backend `forest`: what chains, what is too small, and what is linked."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.clustering.forest import SpanningForest
from diarize.scatter import Scatter

from .conftest import unit, unit_mean


def voices(n: int = 40, k: int = 3, noise: float = 0.3, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.eye(k, 16), n, axis=0) + rng.normal(0, noise / 4, (n * k, 16))
    return unit(rows)


def forest(**params) -> SpanningForest:
    return SpanningForest(**{"compose": unit_mean, "random_state": 0, **params})


def test_voices_are_found_through_chains_and_strays() -> None:
    rows = voices()
    chain = unit(np.linspace(rows[0], rows[40], 7)[1:-1])
    strays = unit(np.random.default_rng(1).normal(size=(3, 16)))
    model = forest(max_set_size=1).fit(np.concatenate([rows, chain, strays]))
    assert model.n_speakers_ == 3
    for begin in (0, 40, 80):
        assert len(set(model.labels_[begin : begin + 40])) == 1


def test_strays_do_not_draw_whole_voices_to_others() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        truth = np.arange(300) % 3
        noise = unit(rng.normal(size=(300, 192)))
        rows = unit(0.8 * unit(rng.normal(size=(3, 192)))[truth] + 0.6 * noise)
        model = forest(n_speakers=3, max_set_size=1).fit(rows)
        assert len(np.unique(np.stack([truth, model.labels_]), axis=1).T) == 3


def test_links_rule() -> None:
    rows = voices(k=2)
    apart = forest(n_speakers=2, max_set_size=1).fit(rows, cannot_link=[(0, 1)])
    assert apart.labels_[0] != apart.labels_[1]
    # Rows of two voices that must be one: the voices are.
    whole = [(row, row + 1) for row in range(79)]
    assert forest(max_set_size=1).fit(rows, must_link=whole).n_speakers_ == 1


@pytest.mark.parametrize("sample_size", [None, 30])
def test_random_links_are_kept(sample_size: int | None) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        rows = unit(rng.normal(size=(60, 8)))
        pairs = rng.integers(0, 60, (6, 2))
        same = rng.integers(0, 4, 60)[pairs]
        must, cannot = pairs[same[:, 0] == same[:, 1]], pairs[same[:, 0] != same[:, 1]]
        try:
            model = forest(sample_size=sample_size).fit(rows, must_link=must, cannot_link=cannot)
        except ValueError as refused:
            assert "must be linked, and must not be" in str(refused)
            continue
        assert (model.labels_[must[:, 0]] == model.labels_[must[:, 1]]).all()
        assert (model.labels_[cannot[:, 0]] != model.labels_[cannot[:, 1]]).all()


def test_links_that_no_answer_keeps_are_refused() -> None:
    rows = voices(k=2)
    triangle = [(0, 1), (1, 2), (0, 2)]
    with pytest.raises(ValueError, match=r"rows 0 and 1, .* cannot be kept apart with 2 speakers"):
        forest(max_speakers=2, max_set_size=1).fit(rows, cannot_link=triangle)
    with pytest.raises(ValueError, match="leave 4 groups of rows, more than the sample_size of 3"):
        forest(sample_size=3).fit(rows, cannot_link=[(0, 1), (2, 3)])


def test_a_sample_of_many_rows() -> None:
    rows = voices(n=400)
    model = forest(sample_size=100).fit(rows, must_link=[(5, 395)])
    assert model.sampled_ == 100
    assert model.n_speakers_ == 3
    assert model.labels_[5] == model.labels_[395]


def test_links_may_join_more_rows_than_a_sample_has() -> None:
    rows = voices(n=100, k=2)
    chains = [(row, row + 1) for row in range(197) if row != 99]  # all of one voice, 98 of another
    model = forest(sample_size=20, min_size=1).fit(rows, must_link=chains, cannot_link=[(0, 150)])
    assert model.sampled_ == 20
    assert all(len(set(model.labels_[begin:end])) == 1 for begin, end in ((0, 100), (100, 198)))
    assert model.labels_[0] != model.labels_[100]
    # Whoever is in no group is among the sample, where so many speakers are asked for.
    three = forest(n_speakers=3, max_set_size=1, sample_size=20, min_size=1)
    assert three.fit(rows, must_link=chains).n_speakers_ == 3


def test_links_of_a_sample_are_of_the_rows_that_were_given() -> None:
    rows = voices(n=100, k=2)
    with pytest.raises(ValueError, match=r"rows 50 and 150, .* cannot be kept apart with 1"):
        forest(n_speakers=1, max_set_size=1, sample_size=40).fit(rows, cannot_link=[(50, 150)])
    with pytest.raises(ValueError, match=r"linked leave 1 groups, fewer than the 2 speakers"):
        whole = [(row, row + 1) for row in range(199)]
        forest(n_speakers=2, max_set_size=1).fit(rows, must_link=whole)


@pytest.mark.parametrize("sample_size", [None, 40])
def test_who_is_said_to_be_two_is_two_however_alike(sample_size: int | None) -> None:
    between = np.eye(16)[:2].sum(axis=0)
    rows = unit(voices(n=60, k=2, noise=0.1) + between)
    known = Scatter(variance=0.02, dimension=16, rows_per_observation=1, alike=0.75)
    model = forest(max_set_size=1, scatter=known, sample_size=sample_size)
    assert model.fit(rows).n_speakers_ == 1
    assert model.fit(rows, cannot_link=[(0, 119)]).n_speakers_ == 2
    assert model.labels_[0] != model.labels_[119]
