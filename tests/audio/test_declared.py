from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile

from diarize.audio.declared import DeclaredSound, declared_sound, ends_within_page, is_chained

SAMPLES = np.random.default_rng(0).normal(0, 0.1, 4000)


def packed(kind: str, subtype: str = "PCM_16") -> bytes:
    made = io.BytesIO()
    soundfile.write(made, SAMPLES, 16_000, format=kind, subtype=subtype)
    return made.getvalue()


@pytest.mark.parametrize("kind", ["WAV", "WAVEX", "RF64", "AIFF", "AU", "W64", "CAF", "NIST"])
def test_what_a_header_declares(kind: str) -> None:
    data = packed(kind)
    assert declared_sound(io.BytesIO(data)) == DeclaredSound(8000, 8000)
    assert declared_sound(io.BytesIO(data[:-3000])) == DeclaredSound(8000, 5000)
    assert declared_sound(io.BytesIO(data + bytes(500))) == DeclaredSound(8000, 8000)


@pytest.mark.parametrize("data", [b"", b"RIFF", b"RIFF\0\0\0\0WAVEfmt ", b"fLaC" + bytes(99)])
def test_other_files_declare_nothing(data: bytes) -> None:
    assert declared_sound(io.BytesIO(data)) is None
    assert not ends_within_page(io.BytesIO(data))


def test_chunks_without_an_end_are_given_up() -> None:
    assert declared_sound(io.BytesIO(b"RIFF\0\0\0\0WAVE" + bytes(1_000_000))) is None


def test_a_long_rf64_that_was_not_closed_declares_nothing() -> None:
    data = bytearray(packed("RF64"))
    place = data.find(b"ds64") + 16
    data[place : place + 8] = bytes(8)
    assert declared_sound(io.BytesIO(bytes(data))) is None


def test_whether_an_ogg_file_is_several() -> None:
    first, second = packed("OGG", "VORBIS"), packed("OGG", "OPUS")
    assert not is_chained(io.BytesIO(first))
    assert not is_chained(io.BytesIO(packed("WAV", "PCM_16")))
    assert is_chained(io.BytesIO(first + second))
    assert is_chained(io.BytesIO(second + first[:-5]))
    # Two streams that are read together begin both in front of all else.
    begins = 28 + first[27]
    assert not is_chained(io.BytesIO(first[:begins] + second[: 28 + second[27]] + second[-300:]))


def test_whether_an_ogg_file_ends_within_a_page() -> None:
    data = packed("OGG", "VORBIS")
    assert not ends_within_page(io.BytesIO(data))
    assert not ends_within_page(io.BytesIO(data + b"TAG" + bytes(500)))
    last = data.rfind(b"OggS")
    assert not ends_within_page(io.BytesIO(data[:last]))  # of unknown length
    for end in (last + 5, last + 20, last + 27, last + 28, len(data) - 1):
        assert ends_within_page(io.BytesIO(data[:end]))
