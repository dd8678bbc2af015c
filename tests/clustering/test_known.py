"""What is known of rows beforehand: which may be speakers, and which are mixtures."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from diarize.clustering import make
from diarize.clustering.known import known_of, one_sided_axes, sure_voices
from diarize.scatter import Axes, Scatter

from .conftest import unit, unit_mean

P, K = 16, 4
ALL = 0.8 * np.eye(P)[0]  # the mean of all speakers
KNOWN = Scatter(0.01, 12.0, axes=Axes(ALL, np.eye(2, P, 5), np.eye(2), np.eye(2)))


def apart(voices):
    """On the other side than all speakers."""
    return unit(voices - 1.6 * (voices @ ALL)[:, None] * ALL / 0.64)


def g(a, b):
    """Where the set of two lies."""
    return apart(unit_mean(a, b))


def learned(a, b, wrong=0.25):
    """As wrong as what was learned may be."""
    return unit(g(a, b) + wrong * np.eye(P)[K + 1])


def talk(per_set=10):
    """Rows of four people and of their six pairs, and the true number of the set of each."""
    rng = np.random.default_rng(0)
    voices = unit(np.eye(P)[0] + 0.9 * np.eye(P)[1 : K + 1])
    i, j = np.triu_indices(K, 1)
    places = np.concatenate([voices, g(voices[i], voices[j])])
    truth = np.repeat(np.arange(len(places)), per_set)
    return unit(places[truth] + 0.02 * rng.normal(size=(len(truth), P))), truth


def test_nothing_is_known_of_rows_off_the_sphere() -> None:
    rows, _ = talk()
    assert known_of(rows, KNOWN) is KNOWN and one_sided_axes(KNOWN) is KNOWN.axes
    assert known_of(1.1 * rows, KNOWN) is None and one_sided_axes(None) is None
    assert known_of(rows, None) is None and one_sided_axes(replace(KNOWN, axes=None)) is None
    assert KNOWN.axes is not None
    both_sides = replace(KNOWN, axes=replace(KNOWN.axes, mean=0.3 * np.eye(P)[0]))
    assert one_sided_axes(both_sides) is None


def test_voices_are_told_from_mixtures_where_there_are_enough() -> None:
    rows, truth = talk()
    assert (sure_voices(rows, KNOWN.axes, 1) == (truth < K)).all()
    assert sure_voices(rows, None, 1).all()
    assert sure_voices(rows, KNOWN.axes, 41).all()  # more are asked for
    assert sure_voices(rows[truth >= K], KNOWN.axes, 1).all()  # nobody is alone


@pytest.mark.parametrize("told", [{}, {"n_speakers": K}])
@pytest.mark.parametrize(
    ("name", "wrong"), [("cap", 0.0), ("ckm", 0.0), ("gcr", 0.25), ("ca", 0.25), ("forest", 0.25)]
)
def test_mixtures_are_no_speakers(name, wrong, told) -> None:
    """Reassigned clusters may lie beside what g says of them."""
    rows, truth = talk()
    compose = partial(learned, wrong=wrong)
    model = make(name, max_set_size=2, compose=compose, random_state=0, scatter=KNOWN, **told)
    model.fit(rows)
    assert model.n_speakers_ == K
    assert KNOWN.axes is not None and (KNOWN.axes.along_mean(unit(model.centroids_)) > 0.6).all()
    sizes = model.sets_.membership.sum(axis=1)
    assert (sizes[truth < K] == 1).all() and (sizes[truth >= K] == 2).all()


def test_the_paper_s_order_knows_of_no_mixtures() -> None:
    rows, _ = talk()
    told = {"compose": learned, "n_base_clusters": 10, "threshold": 0.1, "order": "nearest"}
    known = make("gcr", scatter=KNOWN, **told).fit(rows)
    assert known.n_speakers_ == make("gcr", **told).fit(rows).n_speakers_ == 10
