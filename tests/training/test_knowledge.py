"""How a trained model's vectors scatter."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from diarize.embedding import CompositionalEmbedding, EmbeddingConfig, Knowledge
from diarize.embedding.knowledge import SCATTER
from diarize.mixing.voices import Voices
from diarize.training.knowledge import (
    AXES,
    SHIPPED_WITHIN,
    axes_of,
    heard_voices,
    measured,
    speaker_vectors,
)


def test_axes_of_speakers() -> None:
    rng = np.random.default_rng(0)
    places = 5 * rng.normal(size=(60, 30)) * (np.arange(30) < 20)
    found = axes_of([place + rng.normal(size=(9, 30)) for place in places])
    assert found is not None
    assert found.axes.shape == (20, 30) and found.mean.shape == (30,)
    assert np.allclose(found.axes @ found.axes.T, np.eye(20), atol=1e-5)
    assert np.abs(found.axes[:, 20:]).max() < 0.3  # where speakers do not differ
    assert np.allclose(found.within, np.eye(20), atol=0.25)


def test_few_speakers_and_alike_ones_say_nothing() -> None:
    rng = np.random.default_rng(0)
    assert axes_of([]) is None
    assert axes_of([rng.normal(size=(50, 30)) for _ in range(AXES)]) is None
    assert axes_of([rng.normal(size=(2, 30)) for _ in range(2 * AXES)]) is None
    assert axes_of([np.ones((9, 30))] * 60) is None


@pytest.fixture
def model() -> CompositionalEmbedding:
    torch.manual_seed(0)
    return CompositionalEmbedding(EmbeddingConfig(dim=24, hidden=8, layers=1)).eval()


def test_what_is_measured_takes_the_place_of_what_was_known(
    model: CompositionalEmbedding, hums: Voices
) -> None:
    before = Knowledge(fine_step=0.3)
    assert measured(model, hums, before) is before  # ten voices are too few
    rng = np.random.default_rng(0)
    seconds, n = 8, 30
    samples = (3000 * rng.standard_normal(n * seconds * 16_000)).astype(np.int16)
    starts = np.arange(n) * seconds * 16_000
    for start in starts:  # each speaker of a colour of his own
        own = slice(start, start + seconds * 16_000)
        samples[own] = np.convolve(samples[own], rng.normal(size=8) / 3, "same")
    names = np.array([f"s{i}" for i in range(n)])
    voices = dataclasses.replace(
        hums, samples=samples, starts=starts, ends=starts + seconds * 16_000, speakers=names,
        corpora=names, heard=None,
    )  # fmt: skip
    found = measured(model, voices, before)
    assert found.fine_step == 0.3
    assert found.scatter.axes is not None and found.scatter.axes.axes.shape == (AXES, 24)
    rows = [speaker_vectors(model, voices, i, 2.0) for i in range(n)]
    within = np.mean([((v - v.mean(axis=0)) ** 2).sum() / (len(v) - 1) for v in rows])
    shared = (1 - within) * (1 - SCATTER.variance) / (1 - SHIPPED_WITHIN)
    assert found.scatter.variance == pytest.approx(1 - shared)
    again = dataclasses.replace(
        found.scatter, variance=SCATTER.variance, alike=SCATTER.alike, axes=None
    )
    assert found.scatter.alike == pytest.approx(1 - (1 - SCATTER.alike) * within / SHIPPED_WITHIN)
    assert again == before.scatter


def test_a_voice_that_is_too_short_is_heard_as_nothing(
    model: CompositionalEmbedding, hums: Voices
) -> None:
    voices = dataclasses.replace(hums, ends=np.append(hums.starts[:1], hums.ends[1:]), heard=None)
    heard = heard_voices(model, voices)
    assert not heard[0].any()
    np.testing.assert_allclose(np.linalg.norm(heard[1:], axis=1), 1, atol=1e-5)
    assert len(speaker_vectors(model, voices, 0, 2.0)) == 0
