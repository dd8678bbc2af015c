"""Adaptation: what is learned from sounds that differ, and when nothing is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from diarize.audio import open_recording
from diarize.pipeline import Diarizer
from diarize.training.adaptation import (
    AdaptationConfig,
    adapt,
    adapt_to,
    draw_view,
)
from diarize.training.held import HeldSpeech

from .test_rehearsal import sounds, tiny

FAST = AdaptationConfig(steps=12, every=4, rate=3e-3, windows=12, seconds=(1.4,), start=0.1)


def recordings() -> list[HeldSpeech]:
    return [parted(seed, f"r{seed}") for seed in range(3)]


def parted(seed: int, uri: str) -> HeldSpeech:
    """Four chunks of each speaker."""
    one, other = sounds(seed), sounds(seed + 100)
    speakers = [a + b for a, b in zip(one.speakers, other.speakers, strict=True)]
    return HeldSpeech(uri, tuple(speakers))


def test_a_model_that_knows_nothing_learns_and_g_stays() -> None:
    model = tiny()
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    found = adapt_to(recordings(), model, FAST, seed=0)
    assert found.steps > 0 and found.steps % FAST.every == 0
    assert found.after.log_likelihood.mean() > found.before.log_likelihood.mean()
    assert found.speakers == 9
    assert found.seconds == pytest.approx(9 * 4 * 2.5)
    # What one began with is as it was; the composition of the new model is the same.
    for name, value in found.model.state_dict().items():
        assert torch.equal(model.state_dict()[name], weights[name])
        if name.startswith("compose"):
            assert torch.equal(value, weights[name])
    assert any(
        not torch.equal(value, weights[name]) for name, value in found.model.state_dict().items()
    )
    assert not any(p.requires_grad for p in found.model.parameters())


def test_one_seed_one_model() -> None:
    models = [adapt_to(recordings(), tiny(), FAST, seed).model for seed in (0, 0, 1)]
    first, second, third = (
        torch.cat([v.flatten() for v in m.state_dict().values()]) for m in models
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, third)


def test_what_does_not_help_is_not_kept() -> None:
    """A rate that ruins everything."""
    model = tiny()
    found = adapt_to(recordings(), model, replace(FAST, rate=30.0, steps=8), seed=0)
    assert found.steps == 0
    assert found.model is model
    assert found.after is found.before


def test_there_may_be_nothing_to_learn_from() -> None:
    model = tiny()
    for heard in ([], [sounds(0, speakers=1)]):
        found = adapt_to(heard, model, FAST, seed=0)
        assert found.steps == 0 and found.model is model
        assert len(found.before.right) == 0


def test_the_windows_of_a_step() -> None:
    rng = np.random.default_rng(0)
    taught = recordings()
    view = draw_view(taught, replace(FAST, recordings=2), rng)
    assert view.windows.shape == view.neighbours.shape
    assert len(view.windows) == 24
    assert [len(np.unique(half)) for half in np.split(view.recording, 2)] == [1, 1]
    assert (view.recording[view.parts[:, 0]] == view.recording[view.parts[:, 1]]).all()
    assert 0 < len(view.mixtures) == len(view.parts) <= 12
    alone = draw_view([sounds(0, speakers=1)], FAST, rng)
    assert alone.parts.tolist() == [[0, 0]]


def test_from_a_recording(talk, tiny_weights) -> None:
    diarizer = Diarizer(backend="ac", n_speakers=2, model=tiny_weights)
    steps: dict[str, float] = {}
    found = adapt(
        [open_recording(talk)], diarizer, replace(FAST, steps=2, every=1),
        hook=lambda step, done, total: steps.update({step: done / total}),
    )  # fmt: skip
    assert steps["first pass"] == 1.0
    assert found.model.config.dim == 16
