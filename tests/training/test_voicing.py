"""Voices are told from music by what the network makes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from diarize.activity.counter import CounterConfig, VoiceCounter
from diarize.audio import SAMPLE_RATE
from diarize.mixing.replay import Replay, Scene
from diarize.mixing.talk import Talk
from diarize.mixing.voices import Voices
from diarize.training import voicing
from diarize.training.chunks import render_shard
from diarize.training.counting import as_batch
from diarize.training.voicing import MusicSource, fit_voice

SECONDS = 1.28
TURNS = [(0.0, 60.0, "A"), (20.0, 50.0, "B")]


@pytest.fixture(scope="module")
def replay() -> Replay:
    """Noise that talks, in two rooms of which one is far."""
    rng = np.random.default_rng(0)
    stretches = [rng.normal(0, 2000, 3 * SAMPLE_RATE).astype(np.int16) for _ in range(4)]
    names = np.array(["a", "b", "c", "d"])
    voices = Voices.of(stretches, names, names)
    near, far = np.zeros((1, 2000), np.float32), np.zeros((1, 2000), np.float32)
    near[0, 40], far[0, [40, 1500]] = 1.0, 1.0
    return Replay([Talk.of("talk", TURNS)], voices, [far, near], scene=Scene.of(["close"]))


@pytest.fixture
def counter() -> VoiceCounter:
    """A network that hears speech in everything."""
    torch.manual_seed(0)
    model = VoiceCounter(CounterConfig(width=16, hidden=8, layers=1)).requires_grad_(False)
    model.leave.bias.copy_(torch.tensor([-9.0, 0.0, 0.0, 0.0] * 2))
    return model.eval()


def test_what_was_learned_tells_new_voices_from_new_music(
    replay: Replay, counter: VoiceCounter
) -> None:
    before = {name: value.clone() for name, value in counter.state_dict().items()}
    seen: list[tuple[str, float, float]] = []
    fit_voice(counter, replay, 64, SECONDS, lambda *told: seen.append(told))
    assert seen[-1] == ("voicing", 128, 128)
    changed = [n for n, value in counter.state_dict().items() if not torch.equal(before[n], value)]
    assert changed == ["voice.weight", "voice.bias"]
    means = []
    for source in (voicing.Source(replace(replay, seed=9)), MusicSource(replace(replay, seed=9))):
        batch = as_batch(render_shard(source, 500, 16, SECONDS), counter.config)
        means.append(float(counter.voiced(counter.hear(batch.spectra, batch.hints)).mean()))
    assert means[0] > 0.5 > -0.5 > means[1]


def test_the_same_seed_teaches_the_same(replay: Replay, counter: VoiceCounter) -> None:
    fitted = []
    for _ in range(2):
        fit_voice(counter, replay, 32, SECONDS)
        fitted.append(counter.voice.weight.clone())
    assert torch.equal(*fitted)


def test_where_nothing_is_taken_for_speech_nothing_is_learned(
    replay: Replay, counter: VoiceCounter
) -> None:
    counter.leave.bias.neg_()
    fit_voice(counter, replay, 2, SECONDS)
    assert not counter.voice.weight.any()


def test_nobody_speaks_in_music(replay: Replay) -> None:
    sound, voices = MusicSource(replay).draw(3, SECONDS)
    assert sound.dtype == np.float32 and len(sound) == SECONDS * SAMPLE_RATE
    assert len(voices) == 64 and not voices.any()
    np.testing.assert_array_equal(sound, MusicSource(replay).draw(3, SECONDS)[0])


def test_late_rooms_are_those_with_more_sound_after_50_ms(replay: Replay) -> None:
    (late,) = voicing._late(replay.rooms)
    assert late is replay.rooms[0]
