"""The last layer's lessons and loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from diarize.embedding.model import TIMBRE
from diarize.training.last_layer import cluster_loss, draw_lessons

from .test_adaptation import FAST, recordings
from .test_rehearsal import tiny


def test_what_the_lessons_hold() -> None:
    lessons = draw_lessons(recordings(), tiny().encode, FAST, np.random.default_rng(0))
    assert lessons.windows.shape == lessons.neighbours.shape == (3 * 3 * 8, 2 * 16 + TIMBRE)
    assert not torch.allclose(lessons.windows, lessons.neighbours)
    assert len(lessons.mixtures) == len(lessons.parts) == 3 * 3 * 8 // 2
    assert np.bincount(lessons.speakers).tolist() == [8] * 9
    first, second = lessons.speakers[lessons.parts].T
    assert (first != second).all()
    assert (lessons.recordings[first] == lessons.recordings[second]).all()
    assert lessons.recordings.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


def test_the_loss_of_clusters() -> None:
    """Minus the log posterior of the greedy labels, and their distances."""
    distances = torch.tensor([[[0.0, 0.2, 0.1], [0.0, 0.4, 0.1]]])
    allowed = torch.tensor([[True, True, False]] * 2)
    prior = torch.full((3,), 1 / 3)
    plain = replace(FAST, compact=0.0)
    # Both rows keep the first cluster: 2 sigma log 2 = 0.14 is less than they would lose.
    expected = (torch.tensor([-1.0, -2.0]).exp() + 1).log().mean()
    found = cluster_loss(distances, allowed, allowed, prior, plain)
    assert float(found) == pytest.approx(float(expected))
    # A cluster of another recording is not chosen, though it is near, but counts as a rival.
    wider = cluster_loss(distances, allowed, torch.ones(2, 3, dtype=torch.bool), prior, plain)
    assert float(wider) == pytest.approx(
        float((torch.tensor([-1.0, -2.0]).exp() + 1 + np.exp(-0.5)).log().mean())
    )
    far = cluster_loss(distances + 1, allowed, allowed, prior, replace(FAST, compact=0.5))
    assert float(far) == pytest.approx(float(expected) + 0.5 * 1 / 0.2)
