from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.activity import level
from diarize.activity.level import (
    BLOCK_SECONDS,
    CHUNK,
    MAX_GAIN,
    MAX_SPREAD,
    TARGET_LEVEL,
    apply_gain,
    as_chunks,
    chunk_levels,
    gain_curve,
    measure_level,
)
from diarize.audio import SAMPLE_RATE, open_recording

SECOND = SAMPLE_RATE / CHUNK  # chunks


def noise(decibels: float, seconds: float, seed: int = 0) -> np.ndarray:
    """White noise of a level in dBFS."""
    wave = np.random.default_rng(seed).standard_normal(round(seconds * SAMPLE_RATE))
    return (wave * 10 ** (decibels / 20)).astype(np.float32)


def decibels(factors: np.ndarray) -> np.ndarray:
    return 20 * np.log10(factors)


@pytest.mark.parametrize("recorded", [-5.0, -35.0, -50.0, -70.0])
def test_the_gain_leads_to_the_common_level(recorded: float) -> None:
    gain = measure_level(open_recording((noise(recorded, 5), SAMPLE_RATE)))
    assert gain == pytest.approx(TARGET_LEVEL - recorded, abs=1.0)


def test_silence_has_no_gain_and_what_is_hardly_there_a_bounded_one() -> None:
    assert measure_level(open_recording((np.zeros(50_000), SAMPLE_RATE))) == 0.0
    assert measure_level(open_recording((noise(-90, 5), SAMPLE_RATE))) == MAX_GAIN
    assert (gain_curve(np.full(70, -150.0, np.float32)) == 1.0).all()


def test_pauses_and_single_knocks_do_not_count() -> None:
    wave = np.concatenate([np.zeros(9 * SAMPLE_RATE, np.float32), noise(-40, 3)])
    wave[1000:1200] = 1.0
    gain = measure_level(open_recording((wave, SAMPLE_RATE)))
    assert gain == pytest.approx(TARGET_LEVEL + 40, abs=1.5)


def test_a_long_silence_does_not_change_the_level() -> None:
    """Twelve seconds of speech in six minutes of a quiet room: the level is the speech's."""
    speech = noise(-30, 12)
    quiet = np.concatenate([speech, noise(-75, 360)])
    gains = [measure_level(open_recording((x, SAMPLE_RATE))) for x in (speech, quiet)]
    assert gains[0] == pytest.approx(gains[1], abs=0.2)


def test_levels_by_hand() -> None:
    wave = np.zeros(2 * CHUNK + 100, np.float32)
    wave[:CHUNK] = 0.1  # -20 dB
    wave[2 * CHUNK :] = 1.0  # 100 of 512 samples: -7.1 dB
    levels = chunk_levels(iter([wave]))
    assert levels == pytest.approx([-20.0, -150.0, 10 * np.log10(100 / 512)], abs=1e-3)


def test_blocks_are_whole_chunks_so_levels_do_not_depend_on_them() -> None:
    per_block = round(BLOCK_SECONDS * SAMPLE_RATE)
    assert per_block % CHUNK == 0
    wave = noise(-20, 3)
    cut = 40 * CHUNK
    assert np.array_equal(chunk_levels(iter([wave])), chunk_levels(iter([wave[:cut], wave[cut:]])))


def test_near_and_far_speakers_come_to_one_level() -> None:
    levels = np.repeat(np.float32([-20, -38]), round(20 * SECOND))
    gain = decibels(gain_curve(levels))
    assert gain[round(10 * SECOND)] == pytest.approx(TARGET_LEVEL + 20, abs=0.1)
    assert gain[round(30 * SECOND)] == pytest.approx(TARGET_LEVEL + 38, abs=0.1)
    assert np.abs(np.diff(gain)).max() < 1.0  # no steps: at most 1 dB in 32 ms


def test_quiet_rooms_are_raised_by_a_bounded_amount_only() -> None:
    levels = np.repeat(np.float32([-30, -75]), round(30 * SECOND))
    gain = decibels(gain_curve(levels))
    assert gain.max() == pytest.approx(TARGET_LEVEL + 30 + MAX_SPREAD, abs=0.01)


@given(
    st.lists(st.floats(-150, 100, width=32), min_size=1, max_size=400),
    st.integers(-2, 2),
)
def test_the_curve_has_an_edge_more_than_chunks_and_keeps_its_bounds(
    values: list[float], shift: int
) -> None:
    levels = np.array(values, np.float32)
    factors = gain_curve(levels)
    assert factors.shape == (len(levels) + 1,)
    assert np.isfinite(factors).all() and (factors > 0).all()
    assert decibels(factors).max() <= MAX_GAIN + 1e-3


def test_factors_run_straight_between_the_edges() -> None:
    chunks = np.ones((2, CHUNK), np.float32)
    gained = apply_gain(chunks, np.float32([1.0, 3.0, 2.0])).reshape(-1)
    assert gained[[0, CHUNK // 2, CHUNK, CHUNK + CHUNK // 2]] == pytest.approx([1, 2, 3, 2.5])
    assert gained.dtype == np.float32


@given(st.integers(0, 3 * CHUNK))
def test_chunks_are_filled_up_with_zeros(length: int) -> None:
    chunks = as_chunks(np.ones(length, np.float32))
    assert chunks.shape == (-(-length // CHUNK), CHUNK)
    assert chunks.sum() == length


def test_the_window_is_odd_and_longer_than_the_hop() -> None:
    assert level.WINDOW % 2 == 1
    assert level.WINDOW > level.HOP
