"""Any finite rows into every backend: valid sets of speakers come out, or a named error."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from diarize.clustering import BACKENDS, make
from diarize.sets import SpeakerSets

FAST = {"ckm": {"n_restarts": 4}, "dpgmm": {"n_iter": 6, "n_chains": 2}}
MOST = max(10, settings.default.max_examples // 8)

VALUES = st.floats(-2, 2, width=32) | st.sampled_from([0.0, -0.0, 1.0, 1e-38, 1e38, 1e-300, 1e99])


@st.composite
def rows(draw: st.DrawFn) -> np.ndarray:
    """Up to a dozen rows: any, of unit length, repeated, constant, of any scale."""
    n, p = draw(st.integers(0, 12)), draw(st.integers(1, 5))
    dtype = draw(st.sampled_from([np.float32, np.float64, np.int64]))
    kind = draw(st.sampled_from(["any", "normal", "unit", "few", "constant"]))
    if kind == "any":
        found = draw(arrays.arrays(np.float64, (n, p), elements=VALUES))
    else:
        generator = np.random.default_rng(draw(st.integers(0, 1000)))
        found = generator.normal(size=(n, p))
        if kind == "few" and n:
            found = found[generator.integers(0, max(1, n // 3), n)]
        if kind == "constant":
            found[:] = found[:1]
        if kind == "unit":
            found /= np.linalg.norm(found, axis=1, keepdims=True)
        found = found * draw(st.sampled_from([1.0, 1e-30, 1e-8, 1e8, 1e30]))
    if dtype == np.int64:
        found = np.clip(found, -1e9, 1e9)
    with np.errstate(over="ignore", under="ignore"):
        given_rows = found.astype(dtype)
    return np.nan_to_num(given_rows)


@st.composite
def options(draw: st.DrawFn) -> dict[str, Any]:
    """Bounds on speakers that may contradict each other, and the size of a set."""
    counts = st.none() | st.integers(1, 6)
    return {
        "n_speakers": draw(st.none() | counts),
        "min_speakers": draw(st.none() | counts),
        "max_speakers": draw(st.none() | counts),
        "max_set_size": draw(st.integers(1, 3)),
    }


def mean(a: Any, b: Any) -> Any:
    """A composition that knows no sphere."""
    return (a + b) / 2


@pytest.mark.parametrize("name", sorted(BACKENDS))
@settings(max_examples=MOST)
@given(rows=rows(), options=options(), seed=st.integers(0, 3))
def test_any_rows(name: str, rows: np.ndarray, options: dict[str, Any], seed: int) -> None:
    compose = None if options["max_set_size"] == 1 else mean
    model = make(name, compose=compose, random_state=seed, **FAST.get(name, {}), **options)
    truth = [[i % 2] for i in range(len(rows))] if model.needs_truth else None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*has not converged.*")
        try:
            model.fit(rows, truth)
        except ValueError as error:
            assert str(error) and "\n" not in str(error)
            return
    sets = model.sets_
    assert isinstance(sets, SpeakerSets)
    assert len(sets) == len(rows)
    assert (sets.sizes >= 1).all()
    assert sets == sets.by_first_appearance()
    assert sets.sizes.max(initial=0) <= options["max_set_size"]
    assert model.n_speakers_ == sets.n_speakers == len(model.centroids_)
    assert np.isfinite(model.centroids_).all()
    if len(rows) and not model.needs_truth:
        wanted = options["n_speakers"]
        assert wanted is None or model.n_speakers_ == wanted
        assert model.n_speakers_ >= (options["min_speakers"] or 1)
        assert model.n_speakers_ <= (options["max_speakers"] or len(rows))
