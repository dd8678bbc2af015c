"""Peaks that were cut off, and are put back."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from diarize.audio import open_recording
from diarize.audio.clipping import unclipped

RATE = 16_000


def restored(frames: np.ndarray, n_pieces: int = 1) -> np.ndarray:
    return np.concatenate(list(unclipped(np.array_split(frames, n_pieces), RATE)))


def voice_like(seconds: float = 1.0) -> np.ndarray:
    """Partials of 140 Hz, the highest peak at 1."""
    time = np.arange(int(seconds * RATE)) / RATE
    voice = sum(np.sin(2 * np.pi * 140 * k * time + k * k) / k for k in range(1, 12))
    return (voice / np.abs(voice).max()).astype(np.float32)[:, None]


@pytest.mark.parametrize(("cut", "scale"), [(0.7, 1.0), (0.5, 1.0), (0.7, 0.3)])
def test_most_of_what_was_cut_off_comes_back(cut: float, scale: float) -> None:
    true = voice_like() * np.float32(scale / cut)
    clipped = np.clip(true, -scale, scale)
    found = restored(clipped)
    untouched = np.abs(true) < scale
    np.testing.assert_array_equal(found[untouched], clipped[untouched])
    assert np.square(found - true).sum() < 0.25 * np.square(clipped - true).sum()


@pytest.mark.parametrize("n_pieces", [2, 7, 160, 5000])
def test_samples_do_not_depend_on_where_pieces_end(n_pieces: int) -> None:
    clipped = np.clip(2 * np.hstack([voice_like(), -voice_like()]), -1, 1)
    np.testing.assert_array_equal(restored(clipped, n_pieces), restored(clipped))


def test_what_is_no_peak_stays_as_it_is() -> None:
    rng = np.random.default_rng(0)
    time = np.arange(RATE)
    for samples in (
        np.zeros(RATE),
        np.ones(RATE),
        np.where(time // 40 % 2, 1.0, -1.0),  # a square wave
        np.minimum(1, time / 1000 % 4 - 2),  # flat for longer than a peak
        np.round(rng.normal(0, 3, RATE)) / 32768,  # few bits
        voice_like()[:, 0] * 0.999,
        np.array([1.0, 1.0, 0.0]),
        np.array([1.0]),
    ):
        frames = samples.astype(np.float32)[:, None]
        np.testing.assert_array_equal(restored(frames), frames)


def test_absurd_numbers_are_left_alone() -> None:
    frames = np.clip(2 * voice_like(), -1, 1) * np.float32(1e38)
    np.testing.assert_array_equal(restored(frames), frames)


def test_a_recording_is_read_with_its_peaks_channel_by_channel() -> None:
    true = 2 * voice_like()
    stereo = np.hstack([np.clip(true, -1, 1), 0 * true]).astype(np.float32)
    read = np.concatenate(list(open_recording((stereo, RATE)).blocks()))
    assert np.abs(2 * read).max() > 1.6
    part = np.concatenate(list(open_recording((stereo, RATE), start=0.3, end=0.6).blocks()))
    np.testing.assert_array_equal(part, read[4800:9600])


def test_flat_tops_alone_are_raised() -> None:
    """Runs of three, or of one at full scale, from which the curve falls on both sides."""
    rng = np.random.default_rng(1)
    frames = np.round(4 * rng.uniform(-1.2, 1.2, (20_000, 2))).clip(-4, 4).astype(np.float32) / 4
    found, raised = restored(frames), 0
    for channel in range(2):
        samples, begin = frames[:, channel], 0
        for value, run in itertools.groupby(samples):
            end = begin + len(list(run))
            rises = not np.array_equal(found[begin:end, channel], samples[begin:end])
            if rises:
                beside = samples[[begin - 1, end]]
                assert value and (abs(value) == 1 or end - begin >= 3)
                assert (np.sign(value) * beside < abs(value)).all()
            raised += rises
            begin = end
    assert raised > 300
