from __future__ import annotations

import io

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from diarize.audio import open_recording
from diarize.audio.mpeg import CleanMpeg, find_frames, parse_header

RATE = 44_100
FRAME = 1152  # samples


def mp3(samples: np.ndarray, **options: float | str) -> bytes:
    buffer = io.BytesIO()
    channels = 1 if samples.ndim == 1 else samples.shape[1]
    with soundfile.SoundFile(buffer, "w", RATE, channels, format="MP3", **options) as file:
        file.write(samples)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def varying() -> bytes:
    """Noise, then silence, at a bit rate that varies: the first frames mislead."""
    noise = np.random.default_rng(0).uniform(-0.3, 0.3, 4 * RATE)
    wave = np.concatenate([noise, np.zeros(8 * RATE)])
    return mp3(wave, bitrate_mode="VARIABLE", compression_level=0.3)


@pytest.fixture(scope="module")
def second() -> bytes:
    return mp3(np.zeros(RATE))


def seconds(data: bytes) -> float:
    blocks = open_recording(io.BytesIO(data)).blocks()
    return sum(len(block) for block in blocks) / 16_000


@pytest.mark.parametrize(
    ("head", "expected"),
    [  # bytes per frame: 144 * bits / Hz for MPEG 1, half of that for the others
        ("fffb9000", (3, 44_100, 417, 1152, 32)),  # MPEG 1 layer III, 128 kbit/s
        ("fffb92c0", (3, 44_100, 418, 1152, 17)),  # padded, mono
        ("fff38440", (3, 24_000, 192, 576, 17)),  # MPEG 2, 64 kbit/s
        ("ffe318c4", (3, 8_000, 72, 576, 9)),  # MPEG 2.5, 8 kbit/s, mono
        ("fffd8404", (2, 48_000, 384, 1152, 32)),  # MPEG 1 layer II, 128 kbit/s
        ("ffff8800", (1, 32_000, 384, 384, 32)),  # layer I, 256 kbit/s
    ],
)
def test_headers(head: str, expected: tuple[int, ...]) -> None:
    found = parse_header(bytes.fromhex(head))
    assert found is not None
    fields = (found.layer, found.sample_rate, found.length, found.samples, found.side_info)
    assert fields == expected


@given(st.binary(max_size=4))
def test_no_bytes_trip_the_header(head: bytes) -> None:
    found = parse_header(head)
    assert found is None or found.length > 20


def test_the_count_in_the_file_agrees(varying: bytes) -> None:
    frames = find_frames(io.BytesIO(varying))
    assert frames is not None
    assert frames.announced == frames.n_frames
    assert frames.n_frames * FRAME == pytest.approx(12 * RATE, abs=3 * FRAME)
    assert frames.spans == [(0, len(varying))]
    assert CleanMpeg(io.BytesIO(varying), frames).read() == varying
    assert seconds(varying) == pytest.approx(12.0, abs=1e-3)


def test_without_a_count_nothing_is_lost(varying: bytes) -> None:
    frames = find_frames(io.BytesIO(varying))
    assert frames is not None
    bare = varying[frames.count_length :]
    assert abs(soundfile.info(io.BytesIO(bare)).duration - 12.0) > 2.0  # why all this is needed
    assert seconds(bare) == pytest.approx(12.0, abs=0.1)


def test_joined_files_are_read_to_the_end(varying: bytes) -> None:
    assert seconds(varying + varying) == pytest.approx(24.0, abs=0.2)


def test_tags_are_no_damage(varying: bytes) -> None:
    picture = b"ID3\x04\0\0\0\0\x02\x00" + b"\xff\xfb\x90\x00" * 64
    ape = b"APETAGEX" + (2000).to_bytes(4, "little") + (48).to_bytes(4, "little") + bytes(16)
    old = b"TAG" + b"\xff" * 125
    data = picture + varying + old + picture + varying + ape.ljust(2000, b"\xff") + old
    frames = find_frames(io.BytesIO(data))
    assert frames is not None
    assert frames.gap is None
    assert len(frames.spans) == 2
    assert seconds(data) == pytest.approx(24.0, abs=0.2)


def test_rubbish_between_frames_is_found(varying: bytes) -> None:
    frames = find_frames(io.BytesIO(varying))
    assert frames is not None
    place = 0
    for _ in range(100):
        header = parse_header(varying[place : place + 4])
        assert header is not None
        place += header.length
    data = varying[:place] + bytes(3000) + varying[place:]
    dirty = find_frames(io.BytesIO(data))
    assert dirty is not None
    assert dirty.gap_bytes == 3000
    assert dirty.gap == pytest.approx(100 * FRAME / RATE)
    assert dirty.n_frames == frames.n_frames
    assert CleanMpeg(io.BytesIO(data), dirty).read() == varying


@given(position=st.integers(0, 60_000), length=st.integers(1, 5000))
def test_a_clean_file_reads_alike_from_any_place(second: bytes, position: int, length: int) -> None:
    data = second + second
    frames = find_frames(io.BytesIO(b"junk" + data))
    assert frames is not None
    clean = CleanMpeg(io.BytesIO(b"junk" + data), frames)
    whole = clean.read()
    assert clean.seek(0, io.SEEK_END) == len(whole)
    clean.seek(position)
    assert io.BufferedReader(clean, 64).read(length) == whole[position : position + length]


@given(st.binary(max_size=600))
def test_no_bytes_trip_the_search(data: bytes) -> None:
    find_frames(io.BytesIO(b"\xff\xfb\x90\x00" + data))


@pytest.mark.parametrize("data", [b"", b"\xff", b"\xff\xfb\x90\x00", bytes(9000), b"\xff" * 9000])
def test_what_is_no_mpeg(data: bytes) -> None:
    assert find_frames(io.BytesIO(data)) is None
