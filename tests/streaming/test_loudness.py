from __future__ import annotations

import numpy as np
import pytest

from diarize.activity.level import MAX_GAIN, TARGET_LEVEL
from diarize.streaming.loudness import LiveLevel


def chunks(seconds: float, level: float, seed: int = 0) -> np.ndarray:
    n = round(seconds / 0.032)
    rng = np.random.default_rng(seed)
    return rng.normal(0, 10 ** (level / 20), (n, 512)).astype(np.float32)


def level_of(samples: np.ndarray) -> float:
    return float(10 * np.log10(np.square(samples, dtype=np.float64).mean()))


def through(level: LiveLevel, samples: np.ndarray) -> np.ndarray:
    return np.concatenate([level(samples[i : i + 4]) for i in range(0, len(samples), 4)])


@pytest.mark.parametrize("loudness", [-55.0, -30.0, 0.0])
def test_sound_comes_to_the_common_level(loudness: float) -> None:
    level = LiveLevel()
    heard = through(level, chunks(6, loudness))
    assert level_of(heard[-30:]) == pytest.approx(TARGET_LEVEL, abs=1.5)


def test_loudness_is_believed_at_once() -> None:
    level = LiveLevel()
    through(level, chunks(10, -60))
    heard = through(level, chunks(1, -20))
    assert level_of(heard[12:]) == pytest.approx(TARGET_LEVEL, abs=1.5)


def test_silence_between_loud_sounds_is_not_raised_as_much() -> None:
    level = LiveLevel()
    through(level, chunks(10, -20))
    heard = through(level, chunks(10, -70))
    assert level_of(heard[-30:]) < -40


def test_a_jump_in_level_is_followed_in_the_end() -> None:
    level = LiveLevel()
    through(level, chunks(60, -10))
    heard = through(level, chunks(600, -55))
    assert level_of(heard[-30:]) == pytest.approx(TARGET_LEVEL, abs=1.5)


def test_digital_silence_stays_silent() -> None:
    level = LiveLevel()
    assert not through(level, np.zeros((40, 512), np.float32)).any()
    heard = through(level, chunks(1, -90))
    assert level_of(heard) < -90 + MAX_GAIN + 1
