from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import pytest

from diarize.activity.counts import Heard
from diarize.audio import SAMPLE_RATE, open_recording
from diarize.embedding import load_encoder
from diarize.embedding.embedded import CLUSTERED, apart, embed_heard
from diarize.embedding.knowledge import Knowledge


@pytest.mark.parametrize(
    ("seconds", "step"),
    [(0.0, 0.5), (60.0, 0.5), (CLUSTERED, 0.5), (2 * CLUSTERED, 1.0), (20 * CLUSTERED, 2.0)],
)
def test_in_more_than_half_an_hour_of_speech_windows_lie_further_apart(
    seconds: float, step: float
) -> None:
    known = Knowledge(window=2.0, step=0.5)
    assert apart(np.array([[0.0, seconds / 4], [seconds, 1.75 * seconds]]), known) == step


@pytest.mark.parametrize("turn_window", [0.8, 1.1])
def test_cells_have_vectors_of_two_lengths(turn_window: float) -> None:
    """Or of one, where both are as long."""
    noise = np.random.default_rng(0).normal(0, 0.1, 3 * SAMPLE_RATE).astype(np.float32)
    model = copy(load_encoder())
    model.knowledge = replace(model.knowledge, turn_window=turn_window)
    heard = Heard(np.array([[0.5, 2.5]]))
    found = embed_heard(
        open_recording((noise, SAMPLE_RATE)), heard, np.zeros((0, 2)), model, name="f"
    )
    assert len(found.fine) == len(found.short) == len(found.cells) == 10
    np.testing.assert_allclose(np.linalg.norm(found.short, axis=1), 1, atol=1e-5)
    assert np.array_equal(found.short, found.fine) == (turn_window == 1.1)
