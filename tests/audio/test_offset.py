"""A constant in all samples is no sound."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.audio import open_recording

RATE = 16_000


def sound(seconds: float = 25.0) -> np.ndarray:
    return np.random.default_rng(0).normal(0, 0.05, round(seconds * RATE)).astype(np.float32)


def read(samples: np.ndarray, rate: int = RATE) -> np.ndarray:
    return np.concatenate(list(open_recording((samples, rate)).blocks(7.0)))


@pytest.mark.parametrize("offset", [0.05, -0.2, 0.5])
def test_a_constant_is_taken_off(offset: float) -> None:
    plain = sound()
    np.testing.assert_allclose(read(plain + np.float32(offset)), plain, atol=1e-3)
    part = open_recording((plain + np.float32(offset), RATE), start=3.0, end=4.5)
    np.testing.assert_allclose(next(part.blocks()), plain[3 * RATE : 72_000], atol=1e-3)


def test_other_sound_is_left_as_it_is() -> None:
    plain = sound()
    np.testing.assert_array_equal(read(plain), plain)
    np.testing.assert_array_equal(read(plain + np.float32(1e-3)), plain + np.float32(1e-3))
    rumble = (0.3 * np.sin(2 * np.pi * 8 * np.arange(len(plain)) / RATE)).astype(np.float32)
    np.testing.assert_array_equal(read(rumble), rumble)
    np.testing.assert_array_equal(
        read(np.full(500, 0.2, np.float32)), np.full(500, 0.2, np.float32)
    )
    ramp = np.linspace(-1, 1, 30 * RATE, dtype=np.float32)
    np.testing.assert_array_equal(read(ramp), ramp)
