"""The network in pieces and as a whole, its weights, and what is no speech."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from diarize.activity import NetworkActivity
from diarize.activity.counter import CounterConfig, VoiceCounter
from diarize.activity.counts import INSTANT
from diarize.activity.inference import (
    ODDS_SCALE,
    STEP_SAMPLES,
    Context,
    CountingStream,
    SlidingCounter,
    silero_hints,
)
from diarize.activity.level import CHUNK
from diarize.activity.network import load_counter, save_counter
from diarize.activity.spectra import BANDS
from diarize.audio import SAMPLE_RATE, open_recording
from diarize.errors import InputError
from diarize.storage.weights import models_folder

STEPS = 60
SHIPPED = models_folder() / "activity" / "voice-counter.safetensors"


@pytest.fixture(scope="module")
def counter() -> VoiceCounter:
    """A small network that has learned nothing."""
    torch.manual_seed(0)
    small = VoiceCounter(CounterConfig(width=8, hidden=6, layers=2))
    torch.nn.init.normal_(small.voice.weight)
    return small.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def sound() -> tuple[np.ndarray, np.ndarray]:
    """Spectra of so many steps, and silero-vad's probabilities."""
    rng = np.random.default_rng(0)
    speech = rng.uniform(size=STEPS * STEP_SAMPLES // CHUNK).astype(np.float32)
    return rng.normal(size=(2 * STEPS, BANDS)).astype(np.float32), speech


def slide(sliding: SlidingCounter, sound: tuple[np.ndarray, np.ndarray], cuts: list[int]):
    """Push frames up to each of the cuts, and as much of silero-vad's probabilities."""
    frames, speech = sound
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < len(frames)}), len(frames)]
    chunks = [edge * len(speech) // len(frames) for edge in edges]
    parts = [
        sliding.push(frames[a:b], speech[c:d])
        for (a, b), (c, d) in zip(pairwise(edges), pairwise(chunks), strict=True)
    ]
    return np.concatenate([*parts, sliding.finish()])


def at_once(counter: VoiceCounter, sound: tuple[np.ndarray, np.ndarray], a: int, b: int):
    """What the network says of the steps a to b, when it hears nothing else."""
    frames, speech = sound
    with torch.inference_mode():
        hints = silero_hints(speech, a, b - a)
        seen = torch.from_numpy(frames[None, 2 * a : 2 * b]), torch.from_numpy(hints[None])
        counts = counter(*seen).log_softmax(dim=-1)[0].numpy()
        voiced = counter.voiced(counter.hear(*seen))[0].numpy()
        return np.column_stack([counts, np.repeat(voiced, 2), ODDS_SCALE * hints.reshape(-1)])


@settings(max_examples=30)
@given(
    st.lists(st.integers(1, 2 * STEPS - 1), max_size=12),
    st.integers(1, 20),
    st.integers(0, 20),
    st.integers(0, 20),
    st.integers(1, 4),
)
def test_answers_do_not_depend_on_the_pieces(
    counter: VoiceCounter,
    sound: tuple[np.ndarray, np.ndarray],
    cuts: list[int],
    span: int,
    before: int,
    after: int,
    rows: int,
) -> None:
    expected = slide(SlidingCounter(counter, span, before, after), sound, [])
    assert expected.shape == (2 * STEPS, 6)
    found = slide(SlidingCounter(counter, span, before, after, rows), sound, cuts)
    assert np.allclose(found, expected, atol=1e-6)


def test_each_span_hears_so_much_before_and_after(
    counter: VoiceCounter, sound: tuple[np.ndarray, np.ndarray]
) -> None:
    """Against the definition; and with all before and after, it is one pass over everything."""
    found = slide(SlidingCounter(counter, 10, 7, 5), sound, [17, 45, 46, 100])
    for begin in range(0, 50, 10):
        first, last = max(0, begin - 7), min(STEPS, begin + 15)
        heard = at_once(counter, sound, first, last)[2 * (begin - first) :][:20]
        assert np.allclose(found[2 * begin : 2 * begin + 20], heard, atol=1e-6)
    whole = at_once(counter, sound, 0, STEPS)
    for span in (7, STEPS, 2 * STEPS):
        found = slide(SlidingCounter(counter, span, STEPS, STEPS), sound, [50, 51])
        assert np.allclose(found, whole, atol=1e-6)


def test_without_a_span_all_is_answered_that_can_be(
    counter: VoiceCounter, sound: tuple[np.ndarray, np.ndarray]
) -> None:
    frames, speech = sound
    sliding = SlidingCounter(counter, None, STEPS, 4)
    assert len(sliding.push(frames[:8], speech[:5])) == 0
    first = sliding.push(frames[8:47], speech[5:30])  # 23 whole steps
    assert np.allclose(first, at_once(counter, sound, 0, 23)[: 2 * 19], atol=1e-6)
    second = sliding.push(frames[47:], speech[30:])
    assert np.allclose(second, at_once(counter, sound, 0, 60)[2 * 19 : 2 * 56], atol=1e-6)
    assert len(sliding.finish()) == 2 * 4


@pytest.mark.parametrize("span", [3, None])
def test_no_more_is_held_than_is_heard_again(
    counter: VoiceCounter, sound: tuple[np.ndarray, np.ndarray], span: int | None
) -> None:
    frames, speech = sound
    sliding = SlidingCounter(counter, span, 9, 2)
    for _ in range(20):
        sliding.push(frames[:20], speech[: 20 * STEP_SAMPLES // 2 // CHUNK])
        assert len(sliding._spectra) <= 2 * (9 + 2 + 3 + 10)
        assert len(sliding._speech) <= len(sliding._spectra) / 2 * 1.25 + 5


def test_hardly_anything(counter: VoiceCounter) -> None:
    assert SlidingCounter(counter, 4, 2, 2).finish().shape == (0, 6)
    sliding = SlidingCounter(counter, 4, 2, 2)
    assert not len(sliding.push(np.zeros((1, BANDS), np.float32), np.zeros(1, np.float32)))
    assert sliding.finish().shape == (2, 6)


def test_hints_are_those_of_the_chunk_that_sounds() -> None:
    speech = np.float32([0.5, 0.9, 0.0, 1.0])
    odds = np.log([0.5 / 0.5, 0.9 / 0.1, 0.001 / 0.999, 0.999 / 0.001]) / 4
    # The middles of 20 ms: 10, 30, 50, 70, ... in chunks of 32 ms; then the last one's word holds.
    expected = odds[[0, 0, 1, 2, 2, 3, 3, 3]].reshape(4, 2)
    assert np.allclose(silero_hints(speech, 0, 4), expected, atol=1e-5)
    assert np.allclose(silero_hints(speech, 1, 3), expected[1:], atol=1e-5)


def test_weights_come_back(counter: VoiceCounter, tmp_path: Path) -> None:
    path = tmp_path / "small.safetensors"
    save_counter(counter, path)
    again = load_counter(path)
    assert again.config == counter.config and not again.training
    for name, value in counter.state_dict().items():
        assert torch.equal(again.state_dict()[name], value)
    assert load_counter(path) is again


def test_weights_that_are_overwritten_are_loaded_anew(
    counter: VoiceCounter, tmp_path: Path
) -> None:
    path = tmp_path / "small.safetensors"
    save_counter(counter, path)
    before = load_counter(path)
    torch.manual_seed(1)
    save_counter(VoiceCounter(counter.config), path)
    after = load_counter(path)
    assert any(
        not torch.equal(after.state_dict()[name], value)
        for name, value in before.state_dict().items()
    )


def test_weights_that_cannot_be_used_are_told_in_a_line(
    counter: VoiceCounter, tiny_weights: Path, tmp_path: Path
) -> None:
    good, path = tmp_path / "good.safetensors", tmp_path / "counter.safetensors"
    save_counter(counter, good)
    content = good.read_bytes()
    changed = bytearray(content)
    changed[-9] ^= 64
    other = content.replace(b'"hidden\\": 6', b'"hidden\\": 7', 1)
    assert other != content
    damaged = {
        b"": "counter.safetensors",
        b"no weights": "counter.safetensors",
        content[: len(content) // 2]: "damaged weights file",
        bytes(changed): "damaged weights file",
        other: "damaged weights file",  # its header is under the checksum, too
        tiny_weights.read_bytes(): "not an activity network",
    }
    for bad, reason in damaged.items():
        path.write_bytes(bad)
        with pytest.raises(InputError, match=reason) as refused:
            NetworkActivity(model=path)(open_recording((np.zeros(1000), SAMPLE_RATE)))
        assert "\n" not in str(refused.value) and str(path) in str(refused.value)
    with pytest.raises(InputError, match="nothing: no such weights"):
        load_counter("nothing")


def test_weights_of_another_shape_are_refused(counter: VoiceCounter, tmp_path: Path) -> None:
    path = tmp_path / "counter.safetensors"
    larger = VoiceCounter(CounterConfig(width=9, hidden=6, layers=2))
    larger.config = counter.config
    save_counter(larger, path)
    with pytest.raises(InputError, match="do not fit the network") as refused:
        load_counter(path)
    assert "\n" not in str(refused.value)


def seconds_of_speech(samples: np.ndarray) -> float:
    heard = NetworkActivity()(open_recording((samples.astype(np.float32), SAMPLE_RATE)))
    return float((heard.regions[:, 1] - heard.regions[:, 0]).sum())


def tones(times: np.ndarray) -> np.ndarray:
    """Two notes a second of three harmonics, which die away."""
    notes = 220 * 2 ** (np.random.default_rng(0).integers(0, 12, 30) / 12)
    pitch = notes[(times * 2).astype(int)]
    harmonics = sum(np.sin(2 * np.pi * k * pitch * times) / k for k in (1, 2, 3))
    return 0.1 * harmonics * np.exp(-4 * (times * 2 % 1))


def test_what_is_no_speech() -> None:
    rng = np.random.default_rng(0)
    clicks = np.zeros(15 * SAMPLE_RATE)
    clicks[SAMPLE_RATE // 2 :: SAMPLE_RATE] = 0.9
    sounds = {
        "silence": np.zeros(15 * SAMPLE_RATE),
        "clicks": clicks,
        "clicks in a room": clicks + rng.normal(0, 1e-4, len(clicks)),
        "noise": rng.normal(0, 0.05, len(clicks)),
        "quiet noise": rng.normal(0, 1e-4, len(clicks)),
    }
    found = {name: seconds_of_speech(samples) for name, samples in sounds.items()}
    assert found == dict.fromkeys(sounds, 0.0)


def test_tones_are_no_speech() -> None:
    times = np.arange(15 * SAMPLE_RATE) / SAMPLE_RATE
    assert seconds_of_speech(tones(times)) == 0
    assert seconds_of_speech(0.3 * np.sin(2 * np.pi * 440 * times)) == 0


def test_counts_do_not_depend_on_the_pieces(counter: VoiceCounter) -> None:
    """The network and silero-vad stay in step, however the sound comes, and to its very end."""
    chunks = np.random.default_rng(0).normal(0, 0.1, (101, CHUNK)).astype(np.float32)
    found = []
    for size in (101, 1, 7):
        counting = CountingStream(counter, Context(10, 7, 5))
        parts = [counting.push(chunks[a : a + size])[0].counts for a in range(0, len(chunks), size)]
        found.append(np.concatenate([*parts, counting.finish()[0].counts]))
    assert found[0].shape == (2 * -(-len(chunks) * CHUNK // STEP_SAMPLES), 4)
    assert np.allclose(found[0].sum(axis=1), 1, atol=1e-5)
    assert np.allclose(found[1], found[0], atol=1e-4)
    assert np.allclose(found[2], found[0], atol=1e-4)


def test_where_somebody_speaks_several_are_more_probable_than_the_network_says(
    counter: VoiceCounter, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunks = np.random.default_rng(0).normal(0, 0.1, (101, CHUNK)).astype(np.float32)
    found = []
    for factor in (1.0, 3.0):
        monkeypatch.setattr("diarize.activity.inference.SEVERAL", factor)
        counting = CountingStream(counter, Context(None, 7, 5))
        found.append(
            np.concatenate(
                [*(a.counts for a in counting.push(chunks)), *(a.counts for a in counting.finish())]
            )
        )
    said, more = found
    assert np.allclose(more[:, 0], said[:, 0], atol=1e-6)
    assert np.allclose(more[:, 2:] / more[:, 1:2], 3 * said[:, 2:] / said[:, 1:2], rtol=1e-3)


def test_speech_is_found_and_counted(talk: Path) -> None:
    heard = NetworkActivity()(open_recording(talk))
    assert heard.counts is not None and heard.counts.start == 0.0
    assert heard.counts.probabilities.shape == (round(12 / INSTANT), 4)
    assert np.allclose(heard.counts.probabilities.sum(axis=1), 1, atol=1e-5)
    # anna from 1.00 to 5.59, ben from 6.26 on
    spoken = heard.regions
    assert spoken[0, 0] == pytest.approx(1.0, abs=0.15)
    assert spoken[-1, 1] <= 12.0
    likeliest = heard.counts.probabilities.argmax(axis=1)
    assert (likeliest[:40] == 0).all() and (likeliest[75:250] == 1).mean() > 0.8
    part = NetworkActivity()(open_recording(talk, start=4.0, end=7.99))
    assert part.counts is not None and part.counts.start == 4.0
    assert len(part.counts.probabilities) == 200 and part.regions[-1, 1] <= 7.99


def test_scraps_are_no_error() -> None:
    for n in (1, 320, CHUNK + 1):
        heard = NetworkActivity()(open_recording((np.full(n, 0.1), SAMPLE_RATE)))
        assert heard.counts is not None
        assert -(-n // 320) - len(heard.counts.probabilities) in (0, 1)  # 10 ms are too few
        assert heard.regions.shape == (0, 2)


def test_progress_is_told(talk: Path) -> None:
    told: list[tuple[str, float, float]] = []
    NetworkActivity()(open_recording(talk), lambda *progress: told.append(progress))
    assert told[-1] == ("activity", 12.0, 12.0)
    assert [done for _, done, _ in told] == sorted(done for _, done, _ in told)


def test_weights_that_ship_are_small() -> None:
    assert SHIPPED.stat().st_size < 6_000_000
