"""A stream that is saved and resumed goes on bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diarize.clustering.link_state import unpack
from diarize.clustering.links import Links

from .conftest import unit, unit_mean


def draw(seed: int, n: int = 80) -> np.ndarray:
    rng = np.random.default_rng(seed)
    voices = unit(rng.normal(size=(4, 12)))
    who = rng.integers(4, size=(n, 2))
    noise = rng.uniform(0.1, 0.8) * rng.normal(size=(n, 12)) / 12**0.5
    return unit(unit(voices[who[:, 0]] + (rng.random((n, 1)) < 0.3) * voices[who[:, 1]]) + noise)


@settings(max_examples=25)
@given(st.integers(0, 2**40), st.integers(1, 79), st.sampled_from([1, 2, 3]))
def test_resumed_as_if_nothing_had_happened(seed: int, cut: int, largest: int) -> None:
    rows = draw(seed)
    options = {"max_set_size": largest, "compose": unit_mean, "max_subclusters": 12}
    through = Links(T_c=0.6, T_s=0.8, **options)
    begun = Links(T_c=0.6, T_s=0.8, **options)
    expected = through.partial_fit(rows)
    first = begun.partial_fit(rows[:cut])
    resumed = Links.from_bytes(begun.to_bytes(), compose=unit_mean)
    assert resumed.get_params() == begun.get_params()
    assert first + resumed.partial_fit(rows[cut:]) == expected
    assert resumed.to_bytes() == through.to_bytes()
    assert resumed.final_ids() == through.final_ids()


def test_what_is_not_a_state_is_refused() -> None:
    links = Links(max_set_size=1)
    with pytest.raises(ValueError, match="nothing was fitted"):
        links.to_bytes()
    links.partial_fit(np.eye(3))
    data = links.to_bytes()
    assert unpack(data)[1]["T_s"] == links.T_s
    for damaged in (b"", b"RIFF", data[:100], data[:-8], data.replace(b"diarize.links", b"x" * 13)):
        with pytest.raises(ValueError, match="not a state of Links"):
            Links.from_bytes(damaged)
    with pytest.raises(ValueError, match="not a state of Links"):
        Links.from_bytes(data.replace(b"T_s", b"T_z"))
    with pytest.raises(ValueError, match="not a state of Links"):
        Links.from_bytes(data.replace(b'"edges"', b'"wedge"'))


def test_a_state_with_compositions_needs_them_again() -> None:
    links = Links(compose=unit_mean)
    links.partial_fit(np.eye(3))
    with pytest.raises(ValueError, match="needs a composition function"):
        Links.from_bytes(links.to_bytes())
