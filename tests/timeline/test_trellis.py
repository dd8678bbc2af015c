"""What is decoded, and by which options."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.activity import VoiceCounts
from diarize.activity.counts import INSTANT
from diarize.errors import InputError
from diarize.sets import SpeakerSets
from diarize.timeline import TimelineOptions, Trellis
from diarize.timeline.trellis import LEAST, surprise


@pytest.mark.parametrize("name", ["switch", "overlap", "min_turn", "min_gap"])
@pytest.mark.parametrize("value", [-0.1, float("inf"), float("nan")])
def test_options_out_of_range_are_refused(name, value):
    with pytest.raises(InputError, match=f"^{name} is a finite number from 0 on"):
        TimelineOptions(**{name: value})


def test_a_state_costs_its_distance_and_how_improbable_its_size_is() -> None:
    states = SpeakerSets.from_lists([[0], [1], [0, 1]])
    heard = np.tile(np.array([[0.0, 0.2, 0.8, 0.0]], np.float32), (20, 1))
    cells, rows = np.array([[0.0, 0.2], [0.2, 0.4]]), np.eye(2)
    options = TimelineOptions(counts=0.5)
    places = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    distances = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 1.0]])
    plain = Trellis.of(cells, rows, states, None, options)
    np.testing.assert_allclose(plain.costs(places), distances)
    counted = Trellis.of(cells, rows, states, VoiceCounts(0.0, heard), options)
    surprise = -0.5 * np.log([0.2, 0.2, 0.8])
    np.testing.assert_allclose(counted.costs(places), distances + surprise, atol=1e-6)
    assert plain.movable.tolist() == [True] and not plain.settled.any() | plain.certain.any()


@given(
    st.integers(0, 2**32 - 1),
    st.floats(0, 50),
    st.lists(st.tuples(st.integers(0, 390), st.integers(1, 200)), min_size=1, max_size=5),
    st.integers(1, 5),
)
def test_surprise_is_the_mean_over_a_cell(
    seed: int, start: float, stretches: list[tuple[int, int]], largest: int
) -> None:
    """Against the mean of a grid that is ten times finer than the instants."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 4, (60, 4))
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    voices = VoiceCounts(start, probabilities.astype(np.float32))
    fine = INSTANT / 10
    begins = [min(begin, 399) for begin, _ in stretches]
    ends = [min(600, begin + n) for begin, (_, n) in zip(begins, stretches, strict=True)]
    cells = start + np.array([begins, ends]).T * fine
    nats = -np.log(np.maximum(voices.probabilities.astype(np.float64), LEAST)).repeat(10, axis=0)
    found = surprise(voices, cells, largest)
    assert found.shape == (len(cells), largest + 1)
    for row, begin, end in zip(found, begins, ends, strict=True):
        expected = nats[begin:end].mean(axis=0)
        for size in range(largest + 1):
            assert row[size] == pytest.approx(expected[min(size, 3)], abs=1e-6)


def test_what_cannot_be_surprises_by_so_much_only() -> None:
    voices = VoiceCounts(0.0, np.eye(4, dtype=np.float32)[[1, 1]])
    (nats,) = surprise(voices, np.array([[0.0, 0.04]]), 4)
    assert nats == pytest.approx([-np.log(LEAST), 0, *[-np.log(LEAST)] * 3])
