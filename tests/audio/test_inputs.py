from __future__ import annotations

import gc
import io
import os
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import soundfile

from diarize.audio import open_recording
from diarize.errors import InputError


def read(source: object) -> np.ndarray:
    return np.concatenate(list(open_recording(source).blocks()))  # type: ignore[arg-type]


class Pipe(io.RawIOBase):
    """Bytes that can be read once, in order."""

    def __init__(self, data: bytes) -> None:
        self._data = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]
        return self._data.readinto(buffer)


def test_paths_that_hold_no_recording_are_named_with_the_reason(tmp_path: Path) -> None:
    empty = tmp_path / "empty.wav"
    empty.touch()
    for path, reason in (
        (tmp_path / "missing.wav", "no such file"),
        (tmp_path, "is a folder, not a recording"),
        (empty, "is empty"),
        (empty / "inside.wav", "no such file"),
        (tmp_path / ("x" * 300 + ".wav"), "too long"),
    ):
        with pytest.raises(InputError) as error:
            open_recording(path)
        assert str(error.value).startswith(f"{path}: ")
        assert reason in str(error.value)
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="no such file"):
        open_recording("a\0b.wav")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_file_that_may_not_be_read(write_tone: Callable[..., Path]) -> None:
    path = write_tone()
    path.chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        open_recording(path)


def test_permission_denied_is_told_in_words(
    write_tone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = write_tone()
    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(InputError, match=r"tone\.wav: permission denied"):
        open_recording(path)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no devices here")
def test_devices_have_no_end_and_are_refused() -> None:
    with pytest.raises(InputError, match="is a device"):
        open_recording("/dev/zero")


def test_standard_input_is_spooled(
    write_tone: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_tone(channels=2)
    expected = read(path)
    stdin = SimpleNamespace(buffer=Pipe(path.read_bytes()), closed=False, isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)
    recording = open_recording("-")
    assert (recording.uri, recording.label) == ("stdin", "standard input")
    for _ in range(2):  # a pipe, and still it can be read twice
        assert np.array_equal(np.concatenate(list(recording.blocks())), expected)
    assert len(recording.by_channel()) == 2
    with pytest.raises(InputError, match="standard input: is empty"):
        open_recording("-")


def test_a_terminal_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(closed=False, isatty=lambda: True))
    with pytest.raises(InputError, match="standard input: is a terminal"):
        open_recording("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_named_pipes_are_spooled(write_tone: Callable[..., Path], tmp_path: Path) -> None:
    path, pipe = write_tone(), tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(path.read_bytes()))
    writer.start()
    assert np.array_equal(read(pipe), read(path))
    writer.join()


def test_file_objects_that_give_no_bytes_are_refused(write_tone: Callable[..., Path]) -> None:
    path = write_tone()
    closed, buffer = path.open("rb"), io.BytesIO(path.read_bytes())
    closed.close()
    buffer.close()
    with soundfile.SoundFile(path) as decoded:
        for file, reason in (
            (closed, f"{path}: cannot be read: .*closed file"),
            (buffer, "audio: cannot be read: .*closed file"),
            (decoded, f"{path}: reads ndarray, not bytes"),
        ):
            with pytest.raises(InputError, match=f"^{reason}"):
                open_recording(file)


def test_file_objects(write_tone: Callable[..., Path]) -> None:
    path = write_tone("a b.flac")
    expected = read(path)
    with path.open("rb") as file:
        file.seek(100)  # read from the beginning all the same
        recording = open_recording(file)
        assert recording.uri == "a_b"
        two = [recording.blocks(0.1), recording.blocks(0.1)]
        for a, b in zip(*two, strict=True):  # two readers of one file do not disturb each other
            assert np.array_equal(a, b)
    with pytest.raises(InputError, match="cannot be read"):
        list(recording.blocks())  # closed by now
    assert np.array_equal(read(Pipe(path.read_bytes())), expected)


def test_what_is_no_binary_file_is_refused(write_tone: Callable[..., Path]) -> None:
    for source in (io.StringIO("text"), SimpleNamespace(read=lambda n: "text")):
        with pytest.raises(InputError, match="open as text"):
            open_recording(source)  # type: ignore[arg-type]


def test_a_failing_disk_is_told_in_words(write_tone: Callable[..., Path]) -> None:
    class Failing(io.BytesIO):
        broken = False

        def read(self, size: int | None = -1) -> bytes:
            if self.broken:
                raise OSError(5, "Input/output error")
            return super().read(size)

    file = Failing(write_tone(seconds=30).read_bytes())
    recording = open_recording(file)
    file.broken = True
    with pytest.raises(InputError, match=r"cannot be read: .*Input/output error"):
        list(recording.blocks())


def test_spools_are_closed_with_the_recording(write_tone: Callable[..., Path]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a file left open would warn
        recording = open_recording(Pipe(write_tone().read_bytes()))  # type: ignore[arg-type]
        copy = recording.by_channel()[0]
        del recording
        gc.collect()
        assert next(copy.blocks()).any()
        del copy
        gc.collect()
