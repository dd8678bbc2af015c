"""Sounds that come again are counted once."""

from __future__ import annotations

import numpy as np
import pytest

from diarize.repetition import ASKED, effective_rows, novelty
from diarize.scatter import Scatter
from diarize.sets import to_sphere

from .making import voice_of

VOICES = Scatter(variance=0.38, dimension=25.0, rows_per_observation=3.0)


def test_sounds_that_come_again_are_counted_once() -> None:
    generator = np.random.default_rng(0)
    voice = voice_of(generator, 200, VOICES)
    assert effective_rows(voice, VOICES) == 200
    assert (
        effective_rows(np.repeat(voice, 2, axis=0), VOICES) == 400
    )  # neighbours, which share a sound
    assert [effective_rows(voice[:n], VOICES) for n in (0, 1, 2, 3)] == [0, 1, 2, 3]
    again = [voice, voice, voice + 0.01 * generator.normal(size=voice.shape), voice[:100]]
    rows = to_sphere(np.concatenate(again))
    assert effective_rows(rows, VOICES) == pytest.approx(200)
    long = np.tile(voice, (30, 1))  # of which some are asked
    assert effective_rows(long, VOICES) == pytest.approx(200)


def test_each_row_is_worth_one_by_how_often_it_comes() -> None:
    generator = np.random.default_rng(0)
    said, once = (voice_of(generator, n, VOICES) for n in (40, 60))
    rows = np.concatenate([said, once, said, said])
    np.testing.assert_allclose(novelty(rows, VOICES), np.repeat([1 / 3, 1, 1 / 3], [40, 60, 80]))
    long = novelty(np.tile(rows, (20, 1)), VOICES)
    assert 0 < np.isfinite(long).sum() <= ASKED < len(long)
