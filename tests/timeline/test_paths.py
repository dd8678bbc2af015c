"""The cheapest sequence of sets, and shares of all sequences, against all of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.sets import SpeakerSets
from diarize.timeline import TimelineOptions
from diarize.timeline.paths import FORGETTING, best_path, posteriors

from ..making import cells

STATES = SpeakerSets.from_lists([[0], [1], [0, 1]], n_speakers=2)


def changes(a: set[int], b: set[int]) -> int:
    return max(len(a - b), len(b - a))


def all_paths(
    edges: np.ndarray, costs: np.ndarray, options: TimelineOptions
) -> dict[tuple[int, ...], float]:
    """Every sequence of states, and its cost."""
    sets = [set(members) for members in STATES.to_lists()]

    def price(path: tuple[int, ...]) -> float:
        total = 0.0
        for i, state in enumerate(path):
            length = edges[i, 1] - edges[i, 0]
            total += (costs[i, state] + options.overlap * (len(sets[state]) - 1)) * length
            if i:
                ease = 2 ** (-(edges[i, 0] - edges[i - 1, 1]) / FORGETTING)
                total += options.switch * ease * changes(sets[path[i - 1]], sets[state])
        return total

    return {path: price(path) for path in product(range(3), repeat=len(edges))}


def drawn(seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Cells with pauses of all lengths, or none, between them, and costs."""
    rng = np.random.default_rng(seed)
    lengths = rng.random((n, 2))
    lengths[:, 0] *= rng.integers(0, 2, n)
    return np.cumsum(lengths).reshape(n, 2), rng.random((n, 3))


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.floats(0, 0.5), st.floats(0, 0.5))
def test_decoding_finds_the_cheapest_path(seed, n, switch, overlap):
    edges, costs = drawn(seed, n)
    options = TimelineOptions(switch=switch, overlap=overlap)
    prices = all_paths(edges, costs, options)
    found = best_path(edges, costs, STATES, options)
    assert prices[tuple(found)] == pytest.approx(min(prices.values()), abs=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.floats(0, 0.5), st.floats(0, 30))
def test_posteriors_are_shares_of_all_paths(seed, n, switch, sharpness):
    edges, costs = drawn(seed, n)
    options = TimelineOptions(switch=switch)
    prices = all_paths(edges, costs, options)
    weights = np.exp(-sharpness * (np.array([*prices.values()]) - min(prices.values())))
    held = STATES.membership[np.array([*prices])]  # (paths, n, k)
    expected = np.einsum("p,pnk->nk", weights / weights.sum(), held)
    found = posteriors(edges, costs, STATES, options, sharpness)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_posteriors_of_a_long_recording_stay_numbers():
    costs = np.tile([[0.0, 4.0, 4.0], [4.0, 0.0, 4.0]], (2000, 1))
    found = posteriors(cells(4000), costs, STATES, TimelineOptions(switch=0.0), 1000.0)
    np.testing.assert_allclose(found, np.tile(np.eye(2), (2000, 1)), atol=1e-12)


@pytest.mark.parametrize("switch", [1.0, 80.0, 1e6])
def test_posteriors_are_numbers_however_dear_a_change_is(switch):
    """Each cell excludes what the one before it must be: as corrections do."""
    costs = np.array([[0.0, np.inf, np.inf], [0.1, 0.2, np.inf], [np.inf, 0.0, np.inf]])
    found = posteriors(cells(3), costs, STATES, TimelineOptions(switch=switch), 10.0)
    early = 1 / (1 + np.exp(10 * 0.1 * 0.5))  # the change comes before the cell in the middle
    np.testing.assert_allclose(found, [[1, 0], [1 - early, early], [0, 1]], atol=1e-9)


def test_nothing_decodes_to_nothing():
    assert len(best_path(np.zeros((0, 2)), np.zeros((0, 3)), STATES, TimelineOptions())) == 0
