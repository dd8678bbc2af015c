import numpy as np
import pytest

from diarize.audio import SAMPLE_RATE
from diarize.mixing.music import HIGHEST, MAKERS, draw_music


@pytest.mark.parametrize("seed", range(8))
def test_it_has_unit_power_and_comes_by_the_seed_alone(seed):
    n = 2 * SAMPLE_RATE
    once, again = (draw_music(np.random.default_rng(seed), n) for _ in range(2))
    np.testing.assert_array_equal(once, again)
    assert once.dtype == np.float32 and once.shape == (n,)
    assert np.square(once, dtype=np.float64).mean() == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("maker", MAKERS)
def test_each_kind_sounds_at_lengths_that_are_no_whole_notes(maker):
    for n in (1, 333, 20_011):
        sound = maker(np.random.default_rng(n), n)
        assert sound.shape == (n,)
        assert np.isfinite(sound).all()
    assert sound.any()


def test_no_partial_lies_beyond_half_the_rate():
    assert HIGHEST < SAMPLE_RATE / 2
