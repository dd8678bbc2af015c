"""What is decoded, and by which options."""

import numpy as np
import pytest

from diarize.activity import VoiceCounts
from diarize.errors import InputError
from diarize.sets import SpeakerSets
from diarize.timeline import TimelineOptions, Trellis


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
