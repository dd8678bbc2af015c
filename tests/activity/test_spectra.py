"""What is seen of an instant: in pieces, against the definition, and where it lies."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diarize.activity.spectra import BANDS, SpectraStream, places
from diarize.features import log_mel


def spectra_of(samples: np.ndarray) -> np.ndarray:
    stream = SpectraStream()
    return np.concatenate([stream.push(samples), stream.finish()])


@given(st.lists(st.integers(1, 3000), max_size=6))
def test_spectra_do_not_depend_on_the_pieces(cuts: list[int]) -> None:
    samples = np.random.default_rng(0).normal(size=4000).astype(np.float32)
    stream = SpectraStream()
    edges = [0, *sorted({cut for cut in np.cumsum(cuts).tolist() if cut < 4000}), 4000]
    parts = [stream.push(samples[a:b]) for a, b in pairwise(edges)]
    found = np.concatenate([*parts, stream.finish()])
    assert found.shape == (13, BANDS)  # the last instant is half of silence
    assert np.allclose(found, spectra_of(samples), atol=1e-4)


def test_two_mel_frames_are_of_the_same_20_ms() -> None:
    """Frame t is centred on 10 t + 5 ms, with silence on either side."""
    samples = np.random.default_rng(1).normal(size=3200).astype(np.float32)
    mel = spectra_of(samples)[:, :128].reshape(20, 64)
    assert np.allclose(mel, log_mel(np.pad(samples, 176)), atol=1e-4)


def test_harmonics_of_a_deep_voice_stand_apart() -> None:
    """As a comb with teeth at 100, 200, 300 Hz; and centred on 20 t + 10 ms."""
    times = np.arange(16_000) / 16_000
    voice = sum(np.cos(2 * np.pi * 100 * k * times) for k in range(1, 9)).astype(np.float32)
    comb = spectra_of(0.1 * voice)[25, 128:]
    hertz = np.arange(4, 132) * 15.625
    teeth = [comb[np.abs(hertz - 100 * k).argmin()] for k in range(1, 9)]
    gaps = [comb[np.abs(hertz - 100 * k - 50).argmin()] for k in range(1, 8)]
    assert min(teeth) > max(gaps) + 4
    click = np.zeros(16_000, np.float32)
    click[25 * 320 + 160] = 0.5
    loudness = spectra_of(click)[:, 128:].mean(axis=1)
    assert loudness.argmax() == 25
    assert np.isclose(loudness[24], loudness[26], atol=1e-3)


def test_places_follow_the_mel_scale() -> None:
    where = places()
    assert where.shape == (BANDS,)
    for part in (where[:64], where[64:128], where[128:]):
        assert (np.diff(part) > 0).all() and part.min() >= -1 and part.max() <= 1


def test_nothing_is_seen_of_nothing() -> None:
    assert SpectraStream().finish().shape == (0, BANDS)
    assert spectra_of(np.ones(1, np.float32)).shape == (1, BANDS)
