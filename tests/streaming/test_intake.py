from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.audio import open_recording
from diarize.errors import InputError
from diarize.streaming.intake import Intake, resampling_delay


def noise(n: int) -> np.ndarray:
    return np.random.default_rng(0).normal(0, 0.1, n).astype(np.float32)


def resampled(samples: np.ndarray, rate: int, sizes: list[int]) -> np.ndarray:
    intake, begin, i = Intake(rate), 0, 0
    while begin < len(samples):
        intake.push(samples[begin : begin + sizes[i % len(sizes)]])
        begin += sizes[i % len(sizes)]
        i += 1
    intake.finish()
    everything = intake.take(intake.waiting)
    assert everything is not None
    return everything


@given(
    rate=st.sampled_from([8000, 16_000, 22_050, 48_000]),
    sizes=st.lists(st.integers(1, 3000), min_size=1, max_size=5),
)
def test_blocks_make_no_difference(rate: int, sizes: list[int]) -> None:
    samples = noise(6000)
    expected = np.concatenate(list(open_recording((samples, rate)).blocks()))
    assert np.array_equal(resampled(samples, rate, sizes), expected)


def test_pieces_are_handed_out_once_they_are_complete() -> None:
    intake = Intake(16_000)
    samples = noise(1000)
    intake.push(samples[:300])
    assert intake.take(512) is None
    intake.push(samples[300:])
    pieces = [intake.take(512), intake.take(512)]
    assert pieces[0] is not None and np.array_equal(pieces[0], samples[:512])
    assert pieces[1] is None and intake.waiting == 488
    assert intake.seconds == 1000 / 16_000


def test_integers_have_a_full_scale_of_one() -> None:
    intake = Intake(16_000)
    intake.push(np.array([-32768, 16384], np.int16))
    assert np.array_equal(intake.take(2), [-1.0, 0.5])


@pytest.mark.parametrize(
    ("samples", "reason"),
    [
        (np.zeros((4, 2), np.float32), "shape"),
        (np.array(["a"]), "numbers"),
        (np.zeros(4, np.int64), "int64 do not tell their full scale"),
        ([0, 1], "int64 do not tell their full scale"),
        (np.array([0.0, 1e17]), "0.625 s is too large"),
        (np.array([0.0, np.nan]), "0.625 s is not a finite"),
        (np.array([0.0, np.inf], np.float32), "0.625 s is not a finite"),
    ],
)
def test_unusable_samples(samples: Any, reason: str) -> None:
    intake = Intake(16_000)
    intake.push(np.zeros(9999, np.float32))
    with pytest.raises(InputError, match=reason):
        intake.push(samples)
    assert intake.waiting == 9999  # nothing was taken


@pytest.mark.parametrize("rate", [0, 999, 400_000, 16_000.5])
def test_unusable_rates(rate: float) -> None:
    with pytest.raises(InputError, match="rate"):
        Intake(rate)


@pytest.mark.parametrize("rate", [8000, 16_000, 44_100])
def test_resampled_sound_is_no_later_than_said(rate: int) -> None:
    delay, intake, got = resampling_delay(rate), Intake(rate), 0
    for _ in range(300):
        intake.push(np.zeros(rate // 50, np.float32))
        if (piece := intake.take(intake.waiting)) is not None:
            got += len(piece)
        assert intake.seconds - got / 16_000 <= delay + 0.011  # one block of the measurement
