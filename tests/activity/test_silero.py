from __future__ import annotations

import csv
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from diarize.activity import SileroActivity, clip_regions
from diarize.activity.level import CHUNK
from diarize.activity.silero import SileroNetwork
from diarize.audio import SAMPLE_RATE, open_recording
from diarize.formats.rttm import read_rttm

FRAME = 0.01  # seconds, in which found and true speech are compared


@pytest.fixture(scope="module")
def example(repo_root: Path) -> np.ndarray:
    """The first 40 seconds of the conversation that ships."""
    blocks = open_recording(repo_root / "egs" / "conversation.ogg", end=40.0).blocks()
    return np.concatenate(list(blocks))


@pytest.fixture(scope="module")
def truth(repo_root: Path) -> np.ndarray:
    annotation = read_rttm(repo_root / "egs" / "conversation.rttm")["conversation"]
    return frames(np.array([tuple(s) for s in annotation.get_timeline().support()]), 40.0)


def frames(regions: np.ndarray, seconds: float) -> np.ndarray:
    """Regions as booleans, one for each 10 ms."""
    on = np.zeros(round(seconds / FRAME), bool)
    for begin, end in regions:
        on[round(begin / FRAME) : round(end / FRAME)] = True
    return on


def find(samples: np.ndarray, **options: Any) -> np.ndarray:
    return SileroActivity(**options)(open_recording((samples, SAMPLE_RATE)))


def scaled(samples: np.ndarray, decibels: float) -> np.ndarray:
    """Samples at another level, in 16 bits as a file would hold them."""
    return np.round(samples * 10 ** (decibels / 20) * 32_768).astype(np.int16)


def test_speech_is_found(example: np.ndarray, truth: np.ndarray) -> None:
    found = frames(find(example), 40.0)
    assert (truth & ~found).sum() < 0.01 * truth.sum()
    assert (found & ~truth).sum() < 0.06 * truth.sum()


@pytest.mark.parametrize("decibels", [-20, -35, -50])
def test_quiet_recordings_do_not_fall_silent(example: np.ndarray, decibels: float) -> None:
    found = frames(find(scaled(example, decibels)), 40.0)
    assert (found != frames(find(example), 40.0)).mean() < 0.02


def test_a_far_speaker_is_heard_beside_a_near_one(example: np.ndarray) -> None:
    far = np.concatenate([example, scaled(example, -25) / np.float32(32_768)])
    found = frames(find(far), 80.0)
    assert (found[4000:] != frames(find(example), 40.0)).mean() < 0.04


@pytest.mark.parametrize("decibels", [-10, -50, -80])
def test_noise_is_no_speech_at_any_level(decibels: float) -> None:
    rng = np.random.default_rng(0)
    steps = rng.standard_normal(20 * SAMPLE_RATE)
    for wave in (steps, np.cumsum(steps) - np.cumsum(np.roll(steps, 400))):  # white, dull
        assert not len(find(scaled(wave / wave.std() / 4, decibels)))


def test_silence_and_scraps_are_no_error() -> None:
    for samples in (np.zeros(3 * SAMPLE_RATE), np.zeros(320), np.full(1, 0.1), np.ones(CHUNK + 1)):
        assert find(samples).shape == (0, 2)


def test_speech_reaches_to_the_end_of_the_file(example: np.ndarray) -> None:
    for end in (9.0, 9.0131, 13.5):  # seconds within speech
        samples = example[: round(end * SAMPLE_RATE)]
        assert find(samples)[-1, 1] == pytest.approx(len(samples) / SAMPLE_RATE, abs=1e-9)


def test_times_are_those_of_the_file(example: np.ndarray) -> None:
    whole = find(example)
    part = SileroActivity()(open_recording((example, SAMPLE_RATE), start=16.3, end=33.0))
    assert part[0, 0] >= 16.3 and part[-1, 1] <= 33.0
    both = [frames(clip_regions(regions, 16.3, 33.0), 40.0) for regions in (whole, part)]
    assert (both[0] != both[1]).mean() < 0.01


def test_threads_are_given_back(example: np.ndarray) -> None:
    """Importing silero_vad would set torch to one thread for the whole process."""
    import torch

    from diarize.activity.silero import _lstm, _weights

    _weights.cache_clear()
    _lstm.cache_clear()
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        find(example[:SAMPLE_RATE])
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@given(cuts=st.lists(st.integers(1, 40), min_size=1, max_size=6))
def test_probabilities_do_not_depend_on_how_chunks_come(
    example: np.ndarray, cuts: list[int]
) -> None:
    chunks = example[SAMPLE_RATE:].reshape(-1)[: 60 * CHUNK].reshape(60, CHUNK)
    at_once = SileroNetwork()(chunks)
    network = SileroNetwork()
    edges = [0, *sorted({c for c in np.cumsum(cuts) if c < 60}), 60]
    pieces = [network(chunks[a:b]) for a, b in pairwise(edges)]
    assert np.abs(np.concatenate(pieces) - at_once).max() < 1e-5


def test_probabilities_are_those_of_the_step_by_step_definition(example: np.ndarray) -> None:
    """The forward pass written out in numpy, one chunk after the other."""
    from diarize.activity.silero import _weights

    w = {name: tensor.numpy().astype(np.float64) for name, tensor in _weights().items()}

    def sigmoid(x: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-x))

    def convolve(x: np.ndarray, layer: str, stride: int) -> np.ndarray:
        padded = np.pad(x, ((0, 0), (1, 1)))
        columns = [padded[:, i : i + 3] for i in range(0, x.shape[1], stride)]
        products = [np.einsum("oik,ik->o", w[f"{layer}.weight"], column) for column in columns]
        return np.maximum(np.stack(products, axis=1) + w[f"{layer}.bias"][:, None], 0)

    chunks = example[SAMPLE_RATE : SAMPLE_RATE + 25 * CHUNK].reshape(25, CHUNK)
    hidden, cell, context, expected = np.zeros(128), np.zeros(128), np.zeros(64), []
    for chunk in chunks:
        seen = np.concatenate([context, chunk])
        context = chunk[-64:]
        seen = np.concatenate([seen, seen[-2:-66:-1]])
        waves = np.stack(
            [w["stft_conv.weight"][:, 0] @ seen[i : i + 256] for i in (0, 128, 256, 384)]
        )
        values = np.sqrt(waves[:, :129] ** 2 + waves[:, 129:] ** 2).T
        for layer, stride in (("conv1", 1), ("conv2", 2), ("conv3", 2), ("conv4", 1)):
            values = convolve(values, layer, stride)
        gates = w["lstm_cell.weight_ih"] @ values[:, 0] + w["lstm_cell.bias_ih"]
        gates += w["lstm_cell.weight_hh"] @ hidden + w["lstm_cell.bias_hh"]
        enter, forget, candidate, leave = gates.reshape(4, 128)
        cell = sigmoid(forget) * cell + sigmoid(enter) * np.tanh(candidate)
        hidden = sigmoid(leave) * np.tanh(cell)
        top = w["final_conv.weight"][0, :, 0] @ np.maximum(hidden, 0) + w["final_conv.bias"][0]
        expected.append(sigmoid(top))
    assert np.abs(SileroNetwork()(chunks) - expected).max() < 1e-4


def chunks_of(*lengths_and_values: tuple[int, float]) -> np.ndarray:
    return np.concatenate([np.full(n, value, np.float32) for n, value in lengths_and_values])


def test_regions_by_hand() -> None:
    """With chunks of 32 ms, of which edges come one chunk late, and ends 30 ms more."""
    activity = SileroActivity(threshold=0.5, min_speech=0.1, min_silence=0.2)
    probabilities = chunks_of(
        (10, 0.1), (10, 0.9), (5, 0.0), (10, 0.9),  # a gap of 0.16 s is filled
        (20, 0.1), (3, 0.9), (20, 0.1),  # 0.096 s are dropped
        (10, 0.9), (5, 0.4), (5, 0.3),  # there is no lower threshold to leave it
    )  # fmt: skip
    n_samples = len(probabilities) * CHUNK - 200
    found = activity.regions(probabilities, n_samples)
    expected = [[9 * 0.032, 34 * 0.032 - 0.03], [77 * 0.032, 87 * 0.032 - 0.03]]
    assert found == pytest.approx(np.array(expected))


@given(
    arrays(np.float32, st.integers(1, 200), elements=st.sampled_from([0.0, 0.3, 0.45, 0.9])),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
)
def test_regions_keep_their_promises(
    probabilities: np.ndarray, min_speech: float, min_silence: float
) -> None:
    activity = SileroActivity(min_speech=min_speech, min_silence=min_silence)
    n_samples = len(probabilities) * CHUNK - 7
    found = activity.regions(probabilities, n_samples)
    flat = found.reshape(-1)
    assert (np.diff(flat) > 0).all()
    if len(flat):
        assert flat[0] >= 0 and flat[-1] <= n_samples / SAMPLE_RATE
    if len(found) > 1:
        assert (found[1:, 0] - found[:-1, 1] >= min_silence - 1e-9).all()
        assert (found[1:, 1] - found[1:, 0] >= min_speech - 0.06 - 1e-9).all()


def test_progress_is_told(example: np.ndarray) -> None:
    told: list[tuple[str, float, float]] = []

    def hook(step: str, done: float, total: float) -> None:
        told.append((step, done, total))

    SileroActivity()(open_recording((example, SAMPLE_RATE)), hook)
    assert {step for step, _, _ in told} == {"activity"}
    assert [done for _, done, _ in told] == pytest.approx([30.72, 40.0, 70.72, 80.0])
    assert {total for _, _, total in told} == {80.0}


@pytest.fixture
def utterances(shared_dir: Path) -> Iterator[Path]:
    folder = shared_dir / "speech"
    with (folder / "speakers.tsv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines, delimiter="\t") if row["split"] == "dev-a"]
    return iter([folder / row["path"] for row in rows if row["corpus"].startswith("libri")][:8])


@pytest.mark.needs_speech
def test_real_speech_is_found_at_any_level_and_in_noise(utterances: Iterator[Path]) -> None:
    rng = np.random.default_rng(0)
    for path in utterances:
        speech = np.concatenate(list(open_recording(path).blocks()))
        noisy = speech + rng.standard_normal(len(speech)) * np.sqrt(np.square(speech).mean()) / 5
        found = [find(s) for s in (speech, scaled(speech, -40), scaled(noisy, -30))]
        seconds = [(regions[:, 1] - regions[:, 0]).sum() for regions in found]
        assert seconds[0] > 0.6 * len(speech) / SAMPLE_RATE
        assert seconds[1] == pytest.approx(seconds[0], rel=0.1)
        # In noise short pauses are taken for speech: the low threshold is that of quiet talk.
        assert seconds[2] == pytest.approx(seconds[0], rel=0.2)
