"""Adaptation: what is learned from sounds that differ, and when nothing is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from diarize.audio import open_recording
from diarize.pipeline import Diarizer
from diarize.training import adaptation
from diarize.training.adaptation import adapt, adapt_to, lessons_and_rehearsal
from diarize.training.alignment import align
from diarize.training.held import HeldSpeech
from diarize.training.last_layer import AdaptationConfig

from .test_rehearsal import sounds, tiny

FAST = AdaptationConfig(steps=40, every=10, rate=3e-3, windows=8, seconds=1.4, start=0.1)


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
    # What one began with is as it was; of the new model only the last layer of f is another.
    for name, value in found.model.state_dict().items():
        assert torch.equal(model.state_dict()[name], weights[name])
        assert torch.equal(value, weights[name]) == (not name.startswith("encode.project"))
    assert not any(p.requires_grad for p in found.model.parameters())


def test_one_seed_one_model() -> None:
    models = [adapt_to(recordings(), tiny(), FAST, seed).model for seed in (0, 0, 1)]
    first, second, third = (
        torch.cat([v.flatten() for v in m.state_dict().values()]) for m in models
    )
    assert torch.equal(first, second)
    assert not torch.equal(first, third)


def test_what_does_not_help_is_not_kept() -> None:
    """A weight on mixtures so large that speakers are forgotten over them."""
    model = tiny()
    found = adapt_to(recordings(), model, replace(FAST, rate=30.0, mixtures=1e6), seed=0)
    assert found.steps == 0
    assert found.model is model
    assert np.array_equal(found.after.log_likelihood, found.before.log_likelihood)


def test_a_model_is_aligned_unless_it_is_surely_worse_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tiny()
    change = np.diag(np.linspace(0.5, 2.0, 32))
    config = replace(FAST, rate=30.0, mixtures=1e6)
    refused = adapt_to(recordings(), model, config, seed=0, change=change)
    assert refused.model is model
    assert refused.aligned == 0.0
    monkeypatch.setattr(adaptation, "_surely_better", lambda before, after: False)
    found = adapt_to(recordings(), model, config, seed=0, change=change)
    assert found.steps == 0
    aligned = align(model, change)
    for name, value in found.model.state_dict().items():
        assert torch.equal(value, aligned.state_dict()[name])
    assert found.aligned == pytest.approx(np.sqrt(np.mean((np.linspace(0.5, 2.0, 32) - 1) ** 2)))
    assert not np.array_equal(found.before.log_likelihood, found.after.log_likelihood)
    assert adapt_to([], model, FAST, seed=0, change=change).aligned == found.aligned


def test_there_may_be_nothing_to_learn_from() -> None:
    model = tiny()
    for heard in ([], [sounds(0, speakers=1)]):
        found = adapt_to(heard, model, FAST, seed=0)
        assert found.steps == 0 and found.model is model
        assert len(found.before.right) == 0


def test_every_third_recording_is_rehearsed_and_not_trained_on() -> None:
    found = [parted(seed, f"r{seed}") for seed in range(6)]
    taught, rehearsed = lessons_and_rehearsal(found)
    assert [one.uri for one in taught] == ["r0", "r1", "r3", "r4"]
    assert [(a.uri, b.uri) for a, b in rehearsed] == [("r2", "r2"), ("r5", "r5")]
    assert taught[0] is found[0]
    few, asked = lessons_and_rehearsal(found[:2])
    assert [one.uri for one in few] == ["r0", "r1"] == [one.uri for _, one in asked]
    assert [len(own) for own in few[0].speakers] == [3, 3, 3]
    assert lessons_and_rehearsal([]) == ([], [])


def test_from_a_recording(talk, tiny_weights) -> None:
    diarizer = Diarizer(backend="ac", n_speakers=2, model=tiny_weights)
    steps: dict[str, float] = {}
    found = adapt(
        [open_recording(talk)], diarizer, replace(FAST, steps=2, every=1),
        hook=lambda step, done, total: steps.update({step: done / total}),
    )  # fmt: skip
    assert steps["first pass"] == 1.0
    assert found.model.config.dim == 16
