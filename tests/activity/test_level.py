from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.activity.level import (
    BLOCK_SECONDS,
    CHUNK,
    MAX_GAIN,
    TARGET_LEVEL,
    chunk_levels,
    gain_of,
    measure_gain,
)
from diarize.audio import SAMPLE_RATE, open_recording

SECOND = SAMPLE_RATE / CHUNK  # chunks


def noise(decibels: float, seconds: float, seed: int = 0) -> np.ndarray:
    """White noise of a level in dBFS."""
    wave = np.random.default_rng(seed).standard_normal(round(seconds * SAMPLE_RATE))
    return (wave * 10 ** (decibels / 20)).astype(np.float32)


def measured(samples: np.ndarray) -> float:
    """The gain of a recording, dB."""
    return float(20 * np.log10(measure_gain(open_recording((samples, SAMPLE_RATE)))))


@pytest.mark.parametrize("recorded", [-5.0, -35.0, -50.0, -70.0])
def test_the_gain_leads_to_the_common_level(recorded: float) -> None:
    assert measured(noise(recorded, 5)) == pytest.approx(TARGET_LEVEL - recorded, abs=1.0)


def test_silence_has_no_gain_and_what_is_hardly_there_a_bounded_one() -> None:
    assert measured(np.zeros(50_000)) == 0.0
    assert measured(noise(-90, 5)) == pytest.approx(MAX_GAIN)
    assert gain_of(np.full(70, -150.0, np.float32)) == 1.0
    assert gain_of(np.zeros(0, np.float32)) == 1.0


def test_pauses_and_single_knocks_do_not_count() -> None:
    wave = np.concatenate([np.zeros(9 * SAMPLE_RATE, np.float32), noise(-40, 3)])
    wave[1000:1200] = 1.0
    assert measured(wave) == pytest.approx(TARGET_LEVEL + 40, abs=1.5)


def test_a_long_silence_does_not_change_the_level() -> None:
    """Twelve seconds of speech in six minutes of a quiet room: the level is the speech's."""
    speech = noise(-30, 12)
    quiet = np.concatenate([speech, noise(-75, 360)])
    assert measured(speech) == pytest.approx(measured(quiet), abs=0.2)


def test_the_loud_have_the_word() -> None:
    """One gain from beginning to end: a far speaker, and a pause, are not raised beside a near one.

    In real meetings a gain that follows the level over seconds costs more speech than it finds.
    """
    near, far = (np.full(round(20 * SECOND), level, np.float32) for level in (-20, -38))
    assert 20 * np.log10(gain_of(np.concatenate([near, far]))) == pytest.approx(TARGET_LEVEL + 20)


def test_levels_by_hand() -> None:
    wave = np.zeros(2 * CHUNK + 100, np.float32)
    wave[:CHUNK] = 0.1  # -20 dB
    wave[2 * CHUNK :] = 1.0  # 100 of 512 samples: -7.1 dB
    levels = chunk_levels(iter([wave]))
    assert levels == pytest.approx([-20.0, -150.0, 10 * np.log10(100 / 512)], abs=1e-3)
    assert chunk_levels(iter([])).shape == (0,)


def test_blocks_are_whole_chunks_so_levels_do_not_depend_on_them() -> None:
    per_block = round(BLOCK_SECONDS * SAMPLE_RATE)
    assert per_block % CHUNK == 0
    wave = noise(-20, 3)
    cut = 40 * CHUNK
    assert np.array_equal(chunk_levels(iter([wave])), chunk_levels(iter([wave[:cut], wave[cut:]])))


@given(st.lists(st.floats(-150, 100, width=32), max_size=400))
def test_the_gain_keeps_its_bound(values: list[float]) -> None:
    levels = np.array(values, np.float32)
    gain = gain_of(levels)
    assert 0 < gain <= 10 ** (MAX_GAIN / 20) * (1 + 1e-6)
    if (levels > -80 + 1e-3).any():  # the loudest comes to the common level or above it
        assert 20 * np.log10(gain) >= TARGET_LEVEL - levels.max() - 1e-3
