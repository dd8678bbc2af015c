"""Adaptation: when a model is aligned, and when it stays as it was."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from diarize.audio import open_recording
from diarize.pipeline import Diarizer
from diarize.training import adaptation
from diarize.training.adaptation import adapt, aligned
from diarize.training.alignment import align
from diarize.training.single_speaker import SingleSpeakerSpeech

from .test_identification import sounds, tiny

CHANGE = np.diag(np.linspace(0.5, 2.0, 32))


def recordings() -> list[SingleSpeakerSpeech]:
    return [parted(seed, f"r{seed}") for seed in range(3)]


def parted(seed: int, uri: str) -> SingleSpeakerSpeech:
    """Four chunks of each speaker."""
    one, other = sounds(seed), sounds(seed + 100)
    speakers = [a + b for a, b in zip(one.speakers, other.speakers, strict=True)]
    return SingleSpeakerSpeech(uri, tuple(speakers))


def test_a_model_is_aligned_unless_it_is_surely_worse_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = tiny()
    refused = aligned(recordings(), model, CHANGE, seed=0)
    assert refused.model is model
    assert refused.aligned == 0.0 and refused.measured
    monkeypatch.setattr(adaptation, "surely_better", lambda before, after: False)
    found = aligned(recordings(), model, CHANGE, seed=0)
    changed = align(model, CHANGE)
    for name, value in found.model.state_dict().items():
        assert torch.equal(value, changed.state_dict()[name])
    assert found.aligned == pytest.approx(np.sqrt(np.mean((np.linspace(0.5, 2.0, 32) - 1) ** 2)))
    assert not np.array_equal(found.before.log_likelihood, found.after.log_likelihood)
    assert found.speakers == 9
    assert found.seconds == pytest.approx(9 * 4 * 2.5)
    assert aligned([], model, CHANGE, seed=0).aligned == found.aligned


def test_there_may_be_nothing_to_judge_by() -> None:
    model = tiny()
    for heard in ([], [sounds(0, speakers=1)]):
        found = aligned(heard, model, None, seed=0)
        assert found.model is model and not found.measured
        assert len(found.before.right) == 0


def test_from_a_recording(talk, tiny_weights) -> None:
    diarizer = Diarizer(backend="ac", n_speakers=2, model=tiny_weights)
    steps: dict[str, float] = {}
    found = adapt(
        [open_recording(talk)], diarizer,
        hook=lambda step, done, total: steps.update({step: done / total}),
    )  # fmt: skip
    assert steps["first pass"] == 1.0
    assert found.model.config.dim == 16
