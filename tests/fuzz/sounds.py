"""Damaged recordings: bytes flipped, ends cut off, sizes that lie, and bombs."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator

import av
import numpy as np
import soundfile

SECONDS = 2.0
RATE = 16_000
# libsndfile's names; what has none comes from FFmpeg.
KINDS = {
    "wav": ("WAV", "PCM_16"),
    "float.wav": ("WAV", "FLOAT"),
    "aiff": ("AIFF", "PCM_24"),
    "flac": ("FLAC", "PCM_16"),
    "ogg": ("OGG", "VORBIS"),
    "opus": ("OGG", "OPUS"),
    "mp3": ("MP3", "MPEG_LAYER_III"),
    "m4a": None,
}
_LIES = (0, 1, 0x7FFF_FFFF, 0xFFFF_FFFF)

Case = tuple[str, bytes]


def voice(seconds: float = SECONDS, rate: int = RATE) -> np.ndarray:
    """Something like a voice: harmonics that come and go, and a little noise."""
    time = np.arange(round(seconds * rate)) / rate
    tones = sum(np.sin(2 * np.pi * 120 * k * time) / k for k in range(1, 9))
    noise = np.random.default_rng(0).normal(0, 0.01, len(time))
    return 0.2 * tones * (1 + np.sin(2 * np.pi * 3 * time)) + noise


def good(kind: str) -> bytes:
    """A recording of two seconds."""
    names = KINDS[kind]
    content = io.BytesIO()
    if names is None:
        with av.open(content, "w", format="mp4") as container:
            stream = container.add_stream("aac", rate=RATE)
            stream.layout = "mono"
            samples = voice().astype(np.float32)
            for begin in range(0, len(samples), 1024):
                frame = av.AudioFrame.from_ndarray(
                    samples[None, begin : begin + 1024], "fltp", "mono"
                )
                frame.sample_rate, frame.pts = RATE, begin
                container.mux(stream.encode(frame))
            container.mux(stream.encode(None))
    else:
        soundfile.write(content, voice(), RATE, format=names[0], subtype=names[1])
    return content.getvalue()


def headers(kind: str, content: bytes) -> Iterator[int]:
    """The bytes of a recording that are no samples."""
    if kind == "m4a":  # the samples are in mdat, and all that describes them comes behind it
        yield from range(48)
        yield from range(content.index(b"moov") - 4, len(content))
    else:
        yield from range({"flac": 180, "ogg": 160, "opus": 160, "mp3": 220}.get(kind, 64))


def flipped(kind: str, content: bytes) -> Iterator[Case]:
    """Each header byte inverted, zeroed, and with its lowest bit turned."""
    for place in headers(kind, content):
        byte = content[place]
        for other in {byte ^ 0xFF, 0, byte ^ 1} - {byte}:
            damaged = content[:place] + bytes([other]) + content[place + 1 :]
            yield f"{kind} byte {place} is {other:#04x}", damaged


def cut(kind: str, content: bytes, pieces: int = 60) -> Iterator[Case]:
    """The beginnings of a recording, and what is left of it without a middle."""
    for end in sorted(
        {*range(16), *np.linspace(16, len(content) - 1, pieces).astype(int).tolist()}
    ):
        yield f"{kind} ends after {end} bytes", content[:end]
        if end > 200:
            yield f"{kind} lacks {end - 200} to {end}", content[: end - 200] + content[end:]


def lying(kind: str, content: bytes) -> Iterator[Case]:
    """Each aligned header word replaced by sizes, rates and counts that cannot be."""
    order = ">" if kind in ("aiff", "flac", "m4a") else "<"
    for place in list(headers(kind, content))[::2]:
        for lie in _LIES:
            word = struct.pack(f"{order}I", lie)
            yield f"{kind} word {place} is {lie:#x}", content[:place] + word + content[place + 4 :]
    if kind == "wav":
        for rate in (0, 1, 999, 1_000, 384_000, 384_001, 0xFFFF_FFFF):
            yield f"wav of {rate} Hz", content[:24] + struct.pack("<I", rate) + content[28:]
        for channels in (0, 2, 255, 1024, 1025, 0xFFFF):
            yield (
                f"wav of {channels} channels",
                content[:22] + struct.pack("<H", channels) + content[24:],
            )


def bombs() -> Iterator[Case]:
    """Few bytes that are a lot of sound: 370 MB of samples each, if all were held at once."""
    for kind, rate, channels, seconds in (("FLAC", 192_000, 8, 60), ("OGG", 96_000, 8, 120)):
        content = io.BytesIO()
        subtype = "PCM_16" if kind == "FLAC" else "VORBIS"
        with soundfile.SoundFile(content, "w", rate, channels, subtype, format=kind) as file:
            block = np.zeros((rate, channels), np.float32)
            for _ in range(seconds):
                file.write(block)
        yield f"{kind.lower()} bomb", content.getvalue()


def damaged(kind: str) -> Iterator[Case]:
    """All of these of one kind."""
    content = good(kind)
    yield f"{kind} as it should be", content
    for damage in (flipped, cut, lying):
        yield from damage(kind, content)
