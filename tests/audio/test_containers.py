from __future__ import annotations

import io
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.audio.decoders import Damaged
from diarize.errors import InputError

av = pytest.importorskip("av")

RATE = 48_000
CODECS = {  # suffix -> codec, sample format
    "m4a": ("aac", "fltp"),
    "mp4": ("aac", "fltp"),
    "mov": ("pcm_s16le", "s16"),
    "webm": ("libopus", "flt"),
    "mkv": ("flac", "s16"),
    "avi": ("pcm_s16le", "s16"),
    "flv": ("aac", "fltp"),
    "aac": ("aac", "fltp"),
    "ts": ("aac", "fltp"),
}


def sweep(seconds: float, rate: int = RATE) -> np.ndarray:
    time = np.arange(round(seconds * rate)) / rate
    return 0.4 * np.sin(2 * np.pi * (100 + 40 * time) * time)


def read(source: Any, **options: Any) -> np.ndarray:
    return np.concatenate(list(open_recording(source, **options).blocks()))


@pytest.fixture
def encode(tmp_path: Path) -> Callable[..., Path]:
    """Write a sweep into a container; `lost` seconds have no packets, as after a lost network."""

    def write(
        kind: str, seconds: float = 6.0, channels: int = 1, lost: tuple[float, float] = (0, 0)
    ) -> Path:
        codec, sample_format = CODECS[kind]
        path = tmp_path / f"phone call.{kind}"
        layout = {1: "mono", 2: "stereo"}[channels]
        wave = sweep(seconds)
        with av.open(str(path), "w") as container:
            stream = container.add_stream(codec, rate=RATE)
            stream.layout = layout
            resampler = av.AudioResampler(format=sample_format, layout=layout, rate=RATE)
            for begin in range(0, len(wave), 960):
                if lost[0] <= begin / RATE < lost[1]:
                    continue
                piece = np.zeros((channels, len(wave[begin : begin + 960])), np.float32)
                piece[0] = wave[begin : begin + 960]  # the second channel is silent
                frame = av.AudioFrame.from_ndarray(piece, format="fltp", layout=layout)
                frame.sample_rate, frame.pts = RATE, begin
                for converted in resampler.resample(frame):
                    container.mux(stream.encode(converted))
            container.mux(stream.encode(None))
        return path

    return write


@pytest.mark.parametrize("kind", CODECS)
def test_containers_and_their_parts(kind: str, encode: Callable[..., Path]) -> None:
    path = encode(kind)
    recording = open_recording(path)
    assert recording.uri == "phone_call"
    assert recording.duration == pytest.approx(6.0, abs=0.06)
    whole = np.concatenate(list(recording.blocks()))
    assert len(whole) == pytest.approx(6 * SAMPLE_RATE, abs=1000)
    # Encoders put up to 2112 samples before the sound; not all containers say so.
    lags = [0, 341, 704] if kind in ("flv", "aac", "ts") else [0]
    expected = sweep(6.0, SAMPLE_RATE)[16_000:80_000]
    errors = [np.abs(whole[16_000 + lag : 80_000 + lag] - expected).mean() for lag in lags]
    assert min(errors) < 0.03
    part = read(path, start=2.5, end=4.25)
    assert len(part) == 28_000
    assert np.abs(part - whole[40_000:68_000]).mean() < 0.01


def test_a_tag_in_front_of_the_sound(encode: Callable[..., Path]) -> None:
    path = encode("aac")
    whole = read(path)
    path.write_bytes(b"ID3\4\0\0\0\0\2\x2c" + bytes(300) + path.read_bytes())
    assert np.array_equal(read(path), whole)


def test_channels(encode: Callable[..., Path]) -> None:
    path = encode("mkv", channels=2)
    recording = open_recording(path)
    assert recording.n_channels == 2
    left, right = (np.concatenate(list(r.blocks())) for r in recording.by_channel())
    assert np.abs(left).max() > 0.3
    assert not right.any()
    assert np.allclose(read(path), left / 2, atol=1e-4)


def test_lost_packets_leave_silence_of_their_length(encode: Callable[..., Path]) -> None:
    whole = read(encode("mkv", lost=(2.0, 3.5)))
    expected = sweep(6.0, SAMPLE_RATE)
    assert len(whole) == pytest.approx(6 * SAMPLE_RATE, abs=100)
    assert not whole[33_500:54_500].any()
    assert np.abs(whole[60_000:90_000] - expected[60_000:90_000]).max() < 0.15  # 1 ms of rounding


@pytest.mark.parametrize("kind", ["m4a", "webm", "mkv", "flv"])
@pytest.mark.parametrize("share", [0.02, 0.85])
def test_cut_off_files_are_refused(kind: str, share: float, encode: Callable[..., Path]) -> None:
    data = encode(kind).read_bytes()
    with pytest.raises(InputError, match=r"^audio: (is damaged or cut off|holds no)") as error:
        read(io.BytesIO(data[: int(len(data) * share)]))
    assert "\n" not in str(error.value)


def test_a_damaged_frame_is_refused_with_its_place(encode: Callable[..., Path]) -> None:
    data = bytearray(encode("m4a").read_bytes())
    middle = len(data) // 2
    data[middle : middle + 3000] = b"\xa5" * 3000
    with pytest.raises(Damaged, match=r"up to \d\.\d s of 6\.0 s ") as error:
        read(io.BytesIO(bytes(data)))
    end = int(10 * error.value.readable) / 10
    assert len(read(io.BytesIO(bytes(data)), end=end)) == round(end * SAMPLE_RATE)


@pytest.mark.parametrize("subtype", ["PCM_16", "ALAC_16"])
def test_a_caf_file_that_was_cut_off_is_refused(subtype: str) -> None:
    made = io.BytesIO()
    soundfile.write(made, sweep(6.0), RATE, format="CAF", subtype=subtype)
    data = made.getvalue()[: len(made.getvalue()) // 2]
    # Old releases of PyAV count whole packets.
    with pytest.raises(Damaged, match=r"up to [23]\.\d s of 6\.[01] s "):
        read(io.BytesIO(data))
    assert len(read(io.BytesIO(data), end=2.0)) == 2 * SAMPLE_RATE


def test_a_film_without_sound(tmp_path: Path) -> None:
    path = tmp_path / "silent.mp4"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("mpeg4", rate=24)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        picture = np.zeros((64, 64, 3), np.uint8)
        container.mux(stream.encode(av.VideoFrame.from_ndarray(picture)))
        container.mux(stream.encode(None))
    with pytest.raises(InputError, match=r"silent\.mp4: holds no sound"):
        open_recording(path)


@pytest.mark.parametrize("head", [b"\0\0\0\x1cftypM4A ", b"\x1aE\xdf\xa3", b"FLV\x01\x05"])
def test_heads_without_a_body_are_refused(head: bytes) -> None:
    with pytest.raises(InputError, match=r"^audio: "):
        read(io.BytesIO(head + bytes(500)))


@pytest.mark.parametrize("version", ["18.1.0", "19.0.2"])
def test_tags_of_any_encoding_are_asked_for_where_pyav_has_the_option(
    monkeypatch: pytest.MonkeyPatch, repo_root: Path, version: str
) -> None:
    monkeypatch.setattr(av, "__version__", version)
    asked = runpy.run_path(str(repo_root / "diarize" / "audio" / "containers.py"))["_TAGS"]
    assert asked == ({"metadata_errors": "replace"} if version < "19" else {})


def test_further_tracks_are_told_of(tmp_path: Path) -> None:
    path = tmp_path / "film.mkv"
    with av.open(str(path), "w") as container:
        streams = [container.add_stream("flac", rate=RATE) for _ in range(2)]
        for stream in streams:
            stream.layout = "mono"
        for stream in streams:
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 4800), np.int16), "s16", "mono")
            frame.sample_rate, frame.pts = RATE, 0
            container.mux([*stream.encode(frame), *stream.encode(None)])
    with pytest.warns(UserWarning, match="film.mkv: has 2 sound tracks, of which the first"):
        open_recording(path)
