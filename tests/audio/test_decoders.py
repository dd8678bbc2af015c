from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from diarize.audio import open_recording
from diarize.audio.decoders import ArrayDecoder, damaged
from diarize.errors import InputError


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"Hello, this is no recording.\n" * 30, "is text"),
        ("Grüße\taus\r\nKöln, 你好\n".encode() * 40, "is text"),
        (b"<!DOCTYPE html>\n<p>404 not found</p>", "is text"),
        (b"#EXTM3U\nhttp://127.0.0.1:9/x.ts\n", "is text"),
        (bytes(4000), "not a recording in a format that can be read"),
        (b"%PDF-1.7\n\xe2\xe3\xcf\xd3" + bytes(range(256)) * 9, "not a recording"),
        (np.random.default_rng(1).bytes(5000), "not a recording"),
        (b"x", "is text"),
    ],
    ids=["text", "utf-8", "html", "playlist", "zeros", "pdf", "noise", "one byte"],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    path = tmp_path / "notes.wav"
    path.write_bytes(data)
    with pytest.raises(InputError) as error:
        open_recording(path)
    assert str(error.value).startswith(f"{path}: ")
    assert reason in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("head", [b"RIFF\0\0\0\0WAVE", b"fLaC", b"OggS", b"ID3", b"\xff\xfb\x90\0"])
@pytest.mark.parametrize("length", [0, 5, 800])
def test_heads_without_a_body_are_refused(head: bytes, length: int) -> None:
    with pytest.raises(InputError, match=r"^audio: "):
        open_recording(io.BytesIO(head + bytes(length)))


def test_without_pyav_a_sentence_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "phone.m4a"
    path.write_bytes(b"\0\0\0\x1cftypM4A " + bytes(600))
    monkeypatch.setitem(sys.modules, "av", None)
    monkeypatch.delitem(sys.modules, "diarize.audio.containers", raising=False)
    with pytest.raises(InputError, match=r"PyAV.*pip install 'diarize-sets\[av\]'"):
        open_recording(path)


def test_damage_is_told_with_its_place() -> None:
    assert str(damaged("a.flac", 1.25, 60.0)) == (
        "a.flac: is damaged or cut off; it can be read up to 1.2 s of 60.0 s "
        "(`run --end 1.2` takes what is there)"
    )
    assert "up to 60.0 s (`run --end 60.0` " in str(damaged("a.flac", 60.0, 60.02))
    assert "up to 1.2 s of" in str(damaged("a.flac", 1.29, 60.0))  # not behind what is there
    assert str(damaged("a.flac", 0.01, 3.0)).endswith("nothing of its 3.0 s can be read")


def test_chunks_of_many_channels_are_short() -> None:
    decoder = ArrayDecoder(np.zeros((4000, 1000), np.int16), 16_000)
    sizes = [len(chunk) for chunk in decoder.chunks(10)]
    assert sum(sizes) == 3990
    assert max(sizes) * 1000 < 200_000


def test_a_suffix_does_not_decide(write_tone: Callable[..., Path]) -> None:
    path = write_tone("tone.flac")
    for name in ("tone.raw", "tone.mp3", "tone", "tone.txt"):
        other = path.with_name(name)
        other.write_bytes(path.read_bytes())
        assert len(next(open_recording(other).blocks())) == 16_000
