from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diarize.errors import InputError
from diarize.streaming.pcm import SAMPLE_FORMATS, Pcm
from diarize.streaming.sources import Blocks, microphone, played, standard_input


@given(
    sample_format=st.sampled_from(sorted(SAMPLE_FORMATS)),
    n_channels=st.integers(1, 3),
    sizes=st.lists(st.integers(1, 50), min_size=1, max_size=5),
    left_over=st.integers(0, 1),
)
def test_bytes_in_pieces_of_any_size(
    sample_format: str, n_channels: int, sizes: list[int], left_over: int
) -> None:
    values = np.linspace(-1, 1, 40 * n_channels).reshape(40, n_channels) * 0.99
    kind = np.dtype(SAMPLE_FORMATS[sample_format])
    scale = 1.0 if kind.kind == "f" else 2.0 ** (8 * kind.itemsize - 1)
    stored = (values * scale + (scale if kind.kind == "u" else 0)).astype(kind)
    data = stored.tobytes() + b"\0" * (left_over if kind.itemsize * n_channels > 1 else 0)
    pcm, found, begin, i = Pcm(sample_format, n_channels), [], 0, 0
    while begin < len(data):
        found.append(pcm.decode(data[begin : begin + sizes[i % len(sizes)]]))
        begin, i = begin + sizes[i % len(sizes)], i + 1
    samples = np.concatenate(found)
    assert samples.dtype == np.float32
    assert np.allclose(samples, values.mean(axis=1), atol=2.0**-6)
    assert pcm.left_over == len(data) - stored.nbytes


def test_blocks_are_waited_for_with_a_limit() -> None:
    def slowly() -> Iterator[np.ndarray]:
        yield np.ones(3, np.float32)
        time.sleep(0.2)

    blocks = Blocks(slowly())
    first = blocks.next(5.0)
    assert first is not None and len(first) == 3
    empty = blocks.next(0.001)
    assert empty is not None and len(empty) == 0
    assert blocks.next(5.0) is None


def test_what_goes_wrong_while_reading_is_told() -> None:
    def broken() -> Iterator[np.ndarray]:
        raise InputError("damaged")
        yield

    with pytest.raises(InputError, match="damaged"):
        Blocks(broken()).next(5.0)


def test_a_file_is_no_raw_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(reader))
    os.write(writer, b"RIFF\0\0\0\0WAVE")
    os.close(writer)
    with pytest.raises(InputError, match="is a WAV file, not raw samples"):
        next(standard_input(Pcm("s16", 1)))
    sys.stdin.close()


def test_standard_input_gives_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(reader))
    blocks = standard_input(Pcm("s16", 1))
    os.write(writer, b"\0\x40\0")
    assert next(blocks).tolist() == [0.5]
    os.write(writer, b"\xc0")
    assert next(blocks).tolist() == [-0.5]
    os.close(writer)
    assert list(blocks) == []
    sys.stdin.close()


def test_standard_input_without_a_file_behind_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\0\x40")))
    assert [block.tolist() for block in standard_input(Pcm("s16", 1))] == [[0.5]]


@pytest.mark.parametrize(
    ("stdin", "reason"),
    [(None, "closed"), (SimpleNamespace(closed=False, isatty=lambda: True), "terminal")],
)
def test_no_standard_input(monkeypatch: pytest.MonkeyPatch, stdin: Any, reason: str) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(InputError, match=reason):
        standard_input(Pcm("s16", 1))


def test_a_file_is_played_at_its_speed(
    write_tone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []
    now = [0.0]

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        now[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "sleep", sleep)
    path = write_tone(seconds=1.0)
    assert sum(len(block) for block in played(str(path), 2.0)) == 16_000
    assert sum(slept) == pytest.approx(0.5)
    slept.clear()
    assert sum(len(block) for block in played(str(path), float("inf"))) == 16_000
    assert not slept


class Stream:
    """What sounddevice has, with a quarter of a second to hear."""

    def __init__(self, rate: int, *, callback: Callable[..., None], **_: Any) -> None:
        self.rate, self.callback = rate, callback

    def __enter__(self) -> None:
        self.callback(np.full((self.rate // 4, 1), 0.25, np.float32), 0, None, None)

    def __exit__(self, *_: object) -> None:
        pass


def test_a_microphone(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sounddevice")
    module.InputStream, module.PortAudioError = Stream, RuntimeError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sounddevice", module)
    heard = next(iter(microphone(8000)))
    assert heard.shape == (2000,) and heard[0] == 0.25

    def refuse(*_: Any, **__: Any) -> None:
        raise RuntimeError("no device")

    module.InputStream = refuse  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="microphone: no device"):
        microphone(8000)


def test_sounddevice_is_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sounddevice", None)
    with pytest.raises(InputError, match=r"pip install 'diarize-sets\[microphone\]'"):
        microphone(16_000)


def test_a_source_is_let_go_even_if_nobody_takes_its_blocks() -> None:
    closed = threading.Event()

    def endless() -> Iterator[np.ndarray]:
        try:
            while True:
                yield np.zeros(1, np.float32)
        finally:
            closed.set()

    blocks = Blocks(endless())
    assert blocks.next(5.0) is not None
    blocks.close()  # which has waiting blocks, and a thread that would give more
    assert closed.wait(5.0)
    blocks = Blocks(iter([np.zeros(1, np.float32)]))
    blocks.close()
