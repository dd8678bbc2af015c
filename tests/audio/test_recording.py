from __future__ import annotations

import inspect
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from diarize.audio import SAMPLE_RATE, Recording, open_recording
from diarize.audio.recording import RATES
from diarize.errors import InputError

RATE_EXAMPLES = [1_000, 4_000, 8_000, 11_025, 22_050, 44_100, 48_000, 96_000, 192_000, 384_000]


def sweep(seconds: float, rate: int) -> np.ndarray:
    time = np.arange(round(seconds * rate)) / rate
    return 0.4 * np.sin(2 * np.pi * (100 + 40 * time) * time)


def read(source: Any, **options: Any) -> np.ndarray:
    return np.concatenate(list(open_recording(source, **options).blocks()))


@pytest.mark.parametrize("rate", RATE_EXAMPLES)
def test_any_rate_gives_the_same_sound_at_16_khz(rate: int) -> None:
    samples = read((sweep(2.5, rate), rate))
    expected = sweep(2.5, SAMPLE_RATE)
    assert samples.dtype == np.float32
    assert abs(len(samples) - len(expected)) <= 1
    inside = slice(800, 39_000)  # the ends ring: the sound begins and stops at once
    assert np.abs(samples[inside] - expected[inside]).max() < 0.01


def test_16_khz_passes_untouched() -> None:
    wave = sweep(1.0, SAMPLE_RATE).astype(np.float32)
    assert np.array_equal(read((wave, SAMPLE_RATE)), wave)


@pytest.mark.parametrize("rate", [499, RATES[1] + 1])
def test_other_rates_are_refused(rate: int) -> None:
    with pytest.raises(InputError, match=f"sample rate of {rate} Hz"):
        open_recording((np.zeros(1000), rate))


@given(
    rate=st.sampled_from([8_000, 16_000, 44_100]),
    seconds=st.floats(0.001, 2.0),
    block=st.floats(0.0001, 3.0),
    part=st.tuples(st.floats(0, 0.9), st.floats(0, 1.5)),
)
def test_samples_do_not_depend_on_the_block_size(
    rate: int, seconds: float, block: float, part: tuple[float, float]
) -> None:
    source = (sweep(max(seconds, 2 / rate), rate), rate)
    begin = part[0] * seconds
    recording = open_recording(source, start=begin, end=begin + part[1] + 0.001)
    blocks = list(recording.blocks(max(block, seconds / 200)))
    whole = np.concatenate(list(recording.blocks(1e6)))
    assert np.array_equal(np.concatenate(blocks), whole)
    assert len({len(b) for b in blocks[:-1]}) <= 1
    assert 0 < len(blocks[-1]) <= len(blocks[0])


def test_samples_do_not_depend_on_the_block_size_over_many_decoded_chunks() -> None:
    recording = open_recording((sweep(20.0, 44_100), 44_100))
    long, short = (np.concatenate(list(recording.blocks(s))) for s in (30.0, 0.7))
    assert np.array_equal(long, short)
    assert len(long) == 20 * SAMPLE_RATE


@given(
    rate=st.sampled_from([1_000, 4_000, 16_000, 22_050, 44_100, 48_000]),
    begin=st.floats(0, 4.9),
    length=st.floats(0.001, 5.0),
)
def test_a_part_is_that_part_of_the_whole(rate: int, begin: float, length: float) -> None:
    wave = np.random.default_rng(0).uniform(-0.5, 0.5, 5 * rate)
    whole = read((wave, rate))
    recording = open_recording((wave, rate), start=begin, end=begin + length)
    first = round(recording.start * SAMPLE_RATE)
    samples = np.concatenate(list(recording.blocks()))
    assert abs(recording.start - begin) <= 0.5 / SAMPLE_RATE + 1e-9
    expected = whole[first : first + len(samples)]
    assert len(expected) == len(samples) == round(recording.duration * SAMPLE_RATE)
    assert np.abs(samples - expected).max() < 1e-4  # the resampler's filter has long ends


def test_times_outside_the_recording_are_refused_or_cut() -> None:
    source = (np.ones(SAMPLE_RATE), SAMPLE_RATE)
    for start, end in ((-1.0, None), (1.0, None), (0.5, 0.5), (0.5, 0.2), (None, 0.0)):
        with pytest.raises(InputError):
            open_recording(source, start=start, end=end)
    with pytest.raises(InputError, match="nan"):
        open_recording(source, end=float("nan"))
    assert open_recording(source, start=0.25, end=99.0).duration == 0.75


def test_channels_are_mixed_or_told_apart() -> None:
    channels = np.stack([np.full(500, 0.7), np.zeros(500), np.full(500, -0.1)], axis=1)
    source = (channels, SAMPLE_RATE)
    assert np.allclose(read(source), 0.2)
    assert np.allclose(read(source, channel=2), -0.1)
    apart = [next(r.blocks())[0] for r in open_recording(source).by_channel()]
    assert np.allclose(apart, [0.7, 0.0, -0.1])
    for channel in (3, -1):
        with pytest.raises(InputError, match="has 3 channel"):
            open_recording(source, channel=channel)


def test_each_channel_has_a_name(write_tone: Callable[..., Path]) -> None:
    channels = open_recording(write_tone("talk.wav", channels=2)).by_channel()
    assert [(one.uri, one.channel) for one in channels] == [
        ("talk_channel1", 0),
        ("talk_channel2", 1),
    ]


def test_seven_channels_in_a_file(write_tone: Callable[..., Path]) -> None:
    path = write_tone(channels=7)
    assert open_recording(path).n_channels == 7
    assert np.abs(read(path, channel=1) - read(path)).max() > 0.1


@pytest.mark.parametrize(
    ("kind", "middle", "scale"), [("int16", 0, 2**15), ("int32", 0, 2**31), ("uint8", 128, 2**7)]
)
def test_integers_are_scaled_by_their_full_scale(kind: str, middle: int, scale: int) -> None:
    samples = (middle + 0.5 * scale * np.array([1, -1, 0])).astype(kind)
    assert np.array_equal(read((samples, SAMPLE_RATE)), np.float32([0.5, -0.5, 0.0]))


def test_arrays_that_are_no_recordings_are_refused() -> None:
    for samples, rate, reason in (
        (np.zeros(0), 16_000, "holds no samples"),
        (np.zeros((2, 3, 4)), 16_000, "shape"),
        (np.zeros((2, 16_000)), 16_000, "16000 channels"),
        (np.zeros((5, 0)), 16_000, "0 channels"),
        (np.zeros(5, complex), 16_000, "complex"),
        (np.array(["a"]), 16_000, "real numbers"),
        (np.zeros(5), 16_000.5, "whole number"),
        (np.zeros(5), 0, "sample rate"),
        (np.zeros((5, 2), np.int16).sum(axis=1), 16_000, "int64 do not tell their full scale"),
    ):
        with pytest.raises(InputError, match=reason):
            open_recording((samples, rate))  # type: ignore[arg-type]


def test_what_is_no_recording_is_refused_whatever_its_type() -> None:
    samples = np.zeros(100)
    opened = inspect.unwrap(open_recording)  # types are checked in tests alone
    for source, options, reason in (
        ((samples, None), {}, "whole number of Hz, not None"),
        ((samples, np.array([1, 2])), {}, "whole number of Hz"),
        ((samples, 16_000, 1), {}, "not 3 values"),
        (([[0.0], [0.0, 0.0]], 16_000), {}, "real numbers of shape"),
        ({"audio": "a.wav"}, {}, "holds waveform and sample_rate"),
        ((samples, 16_000), {"channel": "0"}, "there is no '0'"),
        ((samples, 16_000), {"start": "0"}, "start is a number of seconds, not '0'"),
        ((np.zeros((2, 1000)), 16_000), {}, r"2 samples of 1000 channels.*\(n, channels\)"),
    ):
        with pytest.raises(InputError, match=f"^audio: .*{reason}"):
            opened(source, **options)


@pytest.mark.parametrize("kind", ["float32", "bfloat16", "int16"])
def test_tensors_and_what_pyannote_takes(kind: str) -> None:
    tensor = (torch.arange(300).reshape(2, 150) / 512 - 0.25).mul(32 if kind == "int16" else 1)
    tensor = tensor.to(getattr(torch, kind)).requires_grad_(kind != "int16")
    samples = tensor.detach().float().numpy() / (2**15 if kind == "int16" else 1)
    for source in (
        (tensor.T, SAMPLE_RATE),
        {"waveform": tensor, "sample_rate": SAMPLE_RATE},
        {"waveform": samples, "sample_rate": SAMPLE_RATE},
    ):
        np.testing.assert_allclose(read(source), samples.mean(axis=0), atol=1e-7)


def test_samples_whose_powers_overflow_are_refused() -> None:
    samples = np.full((100, 2), 1e6)
    assert read((samples, SAMPLE_RATE)).max() == 1e6
    samples[80, 1] = -1e17
    with pytest.raises(InputError, match=r"^audio: the sample at 0\.005 s is too large"):
        read((samples, SAMPLE_RATE))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_no_numbers_are_refused_with_their_time(value: float) -> None:
    samples = np.zeros((48_000 * 4, 2), np.float32)
    samples[48_000 * 3 + 24_000, 1] = value
    with pytest.raises(InputError, match=r"audio: the sample at 3\.500 s is not a finite number"):
        read((samples, 48_000))
    assert not read((samples, 48_000), channel=0).any()
    assert len(read((samples, 48_000), end=2.0)) == 32_000


def test_what_float32_cannot_hold_is_refused_without_a_warning() -> None:
    with pytest.raises(InputError, match="not a finite number"):
        read((np.full(100, 1e300), SAMPLE_RATE))


def test_silence_and_20_ms_are_fine() -> None:
    assert not read((np.zeros(SAMPLE_RATE), SAMPLE_RATE)).any()
    assert len(read((np.ones(882), 44_100))) == 320


def test_names_become_uris(write_tone: Callable[..., Path]) -> None:
    path = write_tone("Weekly meeting\u00a02.part.wav", seconds=0.1)
    recording = open_recording(path)
    assert recording.uri == "Weekly_meeting_2.part"
    assert (recording.sample_rate, recording.n_channels) == (16_000, 1)
    assert recording.duration == pytest.approx(0.1)
    assert "0.100 s from 0.000 s" in repr(recording)
    assert open_recording((np.ones(5), 16_000)).uri == "audio"
    assert open_recording(io.BytesIO(path.read_bytes())).uri == "audio"


class EndlessTone:
    """Ten hours of eight channels, made when asked for."""

    sample_rate = 44_100
    n_channels = 8
    n_frames = 36_000 * 44_100
    damage = None

    def chunks(self, first: int) -> Iterator[np.ndarray]:
        chunk = np.full((16_384, 8), 0.25, np.float32)
        for begin in range(first, self.n_frames, len(chunk)):
            yield chunk[: self.n_frames - begin]

    def sha256(self) -> str:
        return "endless"


def test_memory_holds_a_block_whatever_the_length() -> None:
    import tracemalloc

    endless = EndlessTone()
    recording = Recording(
        uri="endless", label="endless", n_channels=8, sample_rate=44_100, start=0.0,
        duration=36_000.0, channel=None, _decoder=endless, _first=0, _last=None,
    )  # fmt: skip
    tracemalloc.start()
    seconds = 0.0
    for block in recording.blocks(10.0):
        seconds += len(block) / SAMPLE_RATE
        if seconds > 600:
            break
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10e6  # 10 s are 0.64 MB, 600 s at the file's rate 850 MB
