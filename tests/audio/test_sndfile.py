from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.errors import InputError

# Suffix -> arguments of soundfile.write.
FORMATS: dict[str, dict[str, str]] = {
    "wav": {},
    "float.wav": {"subtype": "FLOAT"},
    "adpcm.wav": {"subtype": "IMA_ADPCM"},
    "gsm.wav": {"subtype": "GSM610"},
    "flac": {},
    "ogg": {"format": "OGG", "subtype": "VORBIS"},
    "opus": {"format": "OGG", "subtype": "OPUS"},
    "mp3": {"format": "MP3"},
    "aiff": {},
    "caf": {"subtype": "ALAC_16"},
    "au": {},
    "w64": {},
}
RATE = 48_000


def sweep(seconds: float, rate: int = RATE) -> np.ndarray:
    """A tone that rises from 100 Hz by 80 Hz a second: every instant is told from all others."""
    time = np.arange(round(seconds * rate)) / rate
    return 0.4 * np.sin(2 * np.pi * (100 + 40 * time) * time)


def encoded(samples: np.ndarray, rate: int = RATE, **options: str) -> bytearray:
    buffer = io.BytesIO()
    soundfile.write(buffer, samples, rate, **{"format": "WAV", **options})
    return bytearray(buffer.getvalue())


def read(source: Any, **options: Any) -> np.ndarray:
    return np.concatenate(list(open_recording(source, **options).blocks()))


def read_bytes(data: bytes, **options: Any) -> np.ndarray:
    return read(io.BytesIO(bytes(data)), **options)


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as error:
        read_bytes(data)
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("kind", FORMATS)
def test_formats_and_their_parts(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"sweep.{kind}"
    soundfile.write(path, sweep(6.0), RATE, **FORMATS[kind])
    whole = read(path)
    assert abs(len(whole) - 6 * SAMPLE_RATE) < 1000  # blocks of ADPCM and GSM are filled up
    expected = sweep(6.0, SAMPLE_RATE)
    tolerance = 0.2 if kind == "gsm.wav" else 0.05
    assert np.abs(whole[8000:88_000] - expected[8000:88_000]).max() < tolerance
    part = read(path, start=2.5, end=4.25)
    assert len(part) == 28_000
    assert np.abs(part - whole[40_000:68_000]).max() < 1e-4


@pytest.mark.parametrize("kind", ["flac", "mp3", "ogg", "opus"])
def test_two_readings_give_the_same_bytes(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"sweep.{kind}"
    soundfile.write(path, sweep(4.0), RATE, **FORMATS[kind])
    assert np.array_equal(read(path), read(path))


DECLARING = [kind for kind in FORMATS if kind not in {"ogg", "opus", "caf"}]  # their length


@pytest.mark.parametrize("share", [0.1, 0.9])
@pytest.mark.parametrize("kind", DECLARING)
def test_cut_off_files_are_refused(kind: str, share: float, tmp_path: Path) -> None:
    path = tmp_path / f"sweep.{kind}"
    soundfile.write(path, sweep(10.0), RATE, **FORMATS[kind])
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(InputError) as error:
        read(path)
    told = re.fullmatch(
        rf"{path}: is damaged or cut off; it can be read up to (\d+\.\d) s of 10\.\d s "
        r"\(`run --end (\d+\.\d)` takes what is there\)",
        str(error.value),
    )
    assert told is not None
    assert told[1] == told[2]
    assert float(told[1]) == pytest.approx(10 * share, abs=0.6)
    part = read(path, end=float(told[2]))
    assert len(part) == round(float(told[2]) * SAMPLE_RATE)
    expected = read(io.BytesIO(whole), end=float(told[2]))
    if kind != "mp3":  # which says in its first frame how much silence its encoder has put there
        assert np.abs(part - expected)[:-4000].max() < 0.01  # the resampler looks ahead
    with pytest.raises(InputError, match=r"up to \d"):
        read(path, end=float(told[2]) + 0.2)
    with pytest.raises(InputError, match=r"up to \d"):
        read(path, start=9.5)


@pytest.mark.parametrize("kind", ["ogg", "opus"])
def test_an_ogg_file_that_ends_within_a_page_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"sweep.{kind}"
    with soundfile.SoundFile(path, "w", RATE, 1, **FORMATS[kind]) as file:
        for _ in range(60):  # libvorbis does not survive much at a time
            file.write(sweep(1.0))
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(InputError, match=r"up to (2|3)\d\.\d s \(`run --end (2|3)\d\.\d` takes"):
        read(path)
    assert len(read(path, end=20.0)) == 20 * SAMPLE_RATE


def test_several_ogg_files_in_one_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "joined.ogg"
    parts = []
    for seconds in (2.0, 3.0):
        soundfile.write(path, sweep(seconds), RATE, **FORMATS["ogg"])
        parts.append(path.read_bytes())
    path.write_bytes(b"".join(parts))
    with pytest.raises(InputError, match=r"joined\.ogg: is several Ogg files in one"):
        read(path)


@pytest.mark.parametrize("rate", [16_000, 44_100, 48_000])
@pytest.mark.parametrize("tenths", [7, 23, 323])
def test_what_is_said_to_be_there_of_a_file_can_be_read(
    rate: int, tenths: int, tmp_path: Path
) -> None:
    path = tmp_path / "cut.wav"
    soundfile.write(path, np.zeros(40 * rate, np.int16), rate)
    path.write_bytes(path.read_bytes()[: 44 + 2 * rate * tenths // 10])
    with pytest.raises(InputError, match=rf"--end {tenths / 10}`"):
        read(path)
    assert len(read(path, end=tenths / 10)) == tenths * SAMPLE_RATE // 10


def test_frames_from_behind_the_end_are_none(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "short.wav", np.zeros(RATE, np.int16), RATE)
    assert not list(open_recording(tmp_path / "short.wav").frames(9.0))


def test_a_header_alone_is_no_recording() -> None:
    for data in (encoded(sweep(30.0))[:44], encoded(sweep(30.0), format="AIFF")[:54]):
        assert refused(data).endswith("cut off; nothing of its 30.0 s can be read")


@pytest.mark.parametrize("kind", ["flac", "ogg", "opus", "mp3"])
def test_files_with_a_hole_are_refused(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"sweep.{kind}"
    soundfile.write(path, sweep(10.0), RATE, **FORMATS[kind])
    data = bytearray(path.read_bytes())
    middle, hole = len(data) // 2, len(data) // 8
    data[middle : middle + hole] = bytes(hole)
    assert "is damaged or cut off" in refused(data)
    assert capfd.readouterr() == ("", "")  # decoders like to talk


def test_flac_from_a_stream_does_not_say_its_length() -> None:
    data = encoded(sweep(3.0), format="FLAC")
    expected = read_bytes(data)
    data[21] &= 0xF0  # 36 bits of STREAMINFO: the number of samples, 0 for unknown
    data[22:26] = bytes(4)
    recording = open_recording(io.BytesIO(bytes(data)))
    assert recording.duration == 3.0
    assert np.array_equal(np.concatenate(list(recording.blocks())), expected)
    assert "up to" in refused(data[: len(data) // 2])


@pytest.mark.parametrize(
    "size", [0, 0xFFFFFFFF, 0x7F000000, 0x7FFFF000, 0x80000000, 0xFFFFFFFF - 36]
)
@pytest.mark.parametrize("of_file", [False, True])
def test_wav_from_a_stream_does_not_say_its_length(size: int, of_file: bool) -> None:
    data = encoded(sweep(1.0))
    place = data.find(b"data") + 4
    data[place : place + 4] = size.to_bytes(4, "little")
    if of_file:
        data[4:8] = size.to_bytes(4, "little")
    assert len(read_bytes(data)) == SAMPLE_RATE


def test_rubbish_behind_the_end_does_no_harm() -> None:
    for kind in ("FLAC", "WAV", "OGG", "MP3"):
        data = encoded(sweep(2.0), format=kind)
        assert np.array_equal(read_bytes(data + b"TAG" + bytes(500)), read_bytes(data))


def test_files_without_samples() -> None:
    data = encoded(np.zeros(0))
    for empty in (data, data + b"LIST" + (8).to_bytes(4, "little") + b"INFOISFT"):
        assert refused(empty) == "audio: holds no samples"
    for kind in ("FLAC", "OGG", "MP3", "AIFF"):
        assert refused(encoded(np.zeros(0), format=kind)).startswith("audio: ")


@pytest.mark.parametrize(
    ("place", "value", "length"),
    [
        (24, 0, 4),  # bytes 24 to 27: the rate
        (24, 400, 4),
        (24, 500_000, 4),
        (24, 4_000_000_000, 4),
        (22, 0, 2),  # bytes 22 and 23: the channels
        (22, 65_535, 2),
    ],
)
def test_absurd_headers_are_refused(place: int, value: int, length: int) -> None:
    data = encoded(sweep(0.1))
    data[place : place + length] = value.to_bytes(length, "little")
    assert refused(data).startswith("audio: ")


def test_as_many_channels_as_fit_need_no_memory() -> None:
    data = encoded(np.zeros((3000, 1024)), 384_000, subtype="PCM_U8")
    assert len(read_bytes(data)) == 125


def test_values_that_are_no_numbers_in_a_file(write_tone: Callable[..., Path]) -> None:
    samples = sweep(2.0)
    samples[RATE] = np.nan
    assert refused(encoded(samples, subtype="FLOAT")).endswith(
        "the sample at 1.000 s is not a finite number"
    )


@pytest.mark.parametrize("end", [4, 14, 100])
def test_mp3_without_a_whole_frame_is_refused_in_silence(
    end: int, capfd: pytest.CaptureFixture[str]
) -> None:
    data = encoded(sweep(1.0), format="MP3")
    assert "is damaged or cut off" in refused(data[:end])
    assert capfd.readouterr() == ("", "")  # the decoder writes to the terminal by itself
