"""The last layer's lessons and loss."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from last_layer import AdaptationConfig, cluster_loss, draw_lessons, lessons_of, train_further

from diarize.embedding.model import TIMBRE

from ..training.test_adaptation import parted, recordings
from ..training.test_rehearsal import sounds, tiny

FAST = AdaptationConfig(steps=40, every=10, rate=3e-3, windows=8, seconds=1.4, start=0.1)


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


def test_a_model_that_knows_nothing_learns_and_g_stays() -> None:
    model = tiny()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    found, steps = train_further(recordings(), model, FAST, seed=0)
    assert steps > 0 and steps % FAST.every == 0
    # What one began with is as it was; of the new model only the last layer of f is another.
    for name, value in found.state_dict().items():
        assert torch.equal(model.state_dict()[name], weights[name])
        assert torch.equal(value, weights[name]) == (not name.startswith("encode.project"))
    assert not any(p.requires_grad for p in found.parameters())
    again, _ = train_further(recordings(), model, FAST, seed=0)
    assert torch.equal(found.encode.project.weight, again.encode.project.weight)


def test_what_does_not_help_is_not_kept() -> None:
    """A weight on mixtures so large that speakers are forgotten over them."""
    model = tiny()
    config = replace(FAST, rate=30.0, mixtures=1e6)
    assert train_further(recordings(), model, config, seed=0) == (model, 0)
    for heard in ([], [sounds(0, speakers=1)]):
        assert train_further(heard, model, FAST, seed=0) == (model, 0)


def test_every_third_recording_is_rehearsed_and_not_trained_on() -> None:
    found = [parted(seed, f"r{seed}") for seed in range(6)]
    assert [one.uri for one in lessons_of(found)] == ["r0", "r1", "r3", "r4"]
    assert lessons_of(found)[0] is found[0]
    few = lessons_of(found[:2])
    assert [one.uri for one in few] == ["r0", "r1"]
    assert [len(own) for own in few[0].speakers] == [3, 3, 3]
