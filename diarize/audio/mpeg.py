"""What an MPEG audio file (mp3) truly holds.

libsndfile believes the frame count in a file's first frame, and guesses one from the first bit
rate where there is none: a file of varying bit rate without that count, or two files joined, would
lose their end without a word. And its decoder prints a note to standard error at every byte that
belongs to no frame. So the frames are counted here, which takes a moment per hour of sound, and
the decoder is given clean frames behind a count that is right.
"""

from __future__ import annotations

import bisect
import os
from dataclasses import dataclass
from typing import Any

from diarize.audio.inputs import PlacedBytes, SeekableFile

# Bit rates in kbit/s by index 1..14 (ISO 11172-3 and 13818-3, table of the bit rate index).
_BIT_RATES = {
    ("1", 1): (32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    ("1", 2): (32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    ("1", 3): (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    ("2", 1): (32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    ("2", 2): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    ("2", 3): (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES = (44_100, 48_000, 32_000)  # Hz in MPEG 1; half in MPEG 2, a quarter in MPEG 2.5
_SEARCH = 1 << 18  # bytes searched for a first frame behind the tags
_READ = 1 << 20
_COUNT_BITRATE = 9  # index of a bit rate whose frames have room for the count


@dataclass(frozen=True)
class FrameHeader:
    """What the four bytes before each frame say."""

    kind: tuple[int, int, int]  # version, layer and rate bits: equal in all frames of a stream
    layer: int
    sample_rate: int  # Hz
    length: int  # bytes
    samples: int  # per channel
    side_info: int  # bytes between the header and the count, layer III


def parse_header(head: bytes) -> FrameHeader | None:
    """Read four bytes as a frame's header; None: they are none, or of a free bit rate."""
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = (head[1] >> 3) & 3, 4 - ((head[1] >> 1) & 3)
    bit_rate, rate = head[2] >> 4, (head[2] >> 2) & 3
    if version == 1 or layer == 4 or bit_rate in (0, 15) or rate == 3:
        return None
    first = version == 3
    hertz = _RATES[rate] // {3: 1, 2: 2, 0: 4}[version]
    bits = 1000 * _BIT_RATES["1" if first else "2", layer][bit_rate - 1]
    padding = (head[2] >> 1) & 1
    samples = {1: 384, 2: 1152, 3: 1152 if first else 576}[layer]
    if layer == 1:
        length = (12 * bits // hertz + padding) * 4
    else:
        length = samples // 8 * bits // hertz + padding
    mono = head[3] >> 6 == 3
    side_info = (17 if mono else 32) if first else (9 if mono else 17)
    return FrameHeader((version, layer, rate), layer, hertz, length, samples, side_info)


@dataclass(frozen=True)
class MpegFrames:
    """The frames of a file.

    Attributes:
        spans: places of clean frames, `(offset, bytes)`.
        n_frames: how many they are, without a first one that only holds the count.
        announced: the count that the file itself gives, or None.
        header: of the first frame.
        head: the first frame's four bytes.
        count_length: bytes of the first frame if it only holds the count, else 0.
        gap: seconds of sound before the first bytes that are no frames and no tags; None: no such.
        gap_bytes: how many such bytes there are, those behind the last frame aside.
    """

    spans: list[tuple[int, int]]
    n_frames: int
    announced: int | None
    header: FrameHeader
    head: bytes
    count_length: int
    gap: float | None
    gap_bytes: int

    @property
    def seconds_per_frame(self) -> float:
        return self.header.samples / self.header.sample_rate


def find_frames(file: SeekableFile) -> MpegFrames | None:
    """Walk through the frames of an MPEG audio file; None: it is none.

    Free bit rates, which nobody uses, are not recognised.
    """
    reader = _Reader(file)
    first = _first_frame(reader)
    if first is None:
        return None
    head = reader.at(first, 4)
    header = parse_header(head)
    assert header is not None
    count_length, announced = _read_count(reader.at(first, header.length), header)
    spans: list[tuple[int, int]] = []
    frames = gap_bytes = 0
    gap: float | None = None
    begin = position = first
    lengths: dict[bytes, int] = {}  # header bytes 1 and 2 -> frame length; 0: another stream's
    while True:
        head4 = reader.at(position, 4)
        key = head4[1:3]
        if len(head4) == 4 and head4[0] == 0xFF:
            length = lengths.get(key)
            if length is None:
                found = parse_header(head4)
                length = found.length if found and found.kind == header.kind else 0
                lengths[key] = length
            if length and position + length <= reader.size:
                frames += 1
                position += length
                continue
        if position > begin:
            spans.append((begin, position - begin))
        behind_tags = _skip_tags(reader, position)
        begin = _next_frame(reader, behind_tags, header)
        if begin < 0:
            break
        missing = begin - behind_tags
        if missing:
            gap_bytes += missing
            gap = frames * header.samples / header.sample_rate if gap is None else gap
        position = begin
    return MpegFrames(
        spans, frames - (count_length > 0), announced, header, head, count_length, gap, gap_bytes
    )


class CleanMpeg(PlacedBytes):
    """The clean frames of an MPEG audio file as a file, with a count that is right."""

    def __init__(self, file: SeekableFile, frames: MpegFrames) -> None:
        self._file = file
        spans = list(frames.spans)
        self._prefix = b""
        if frames.header.layer == 3 and frames.announced != frames.n_frames:
            self._prefix = _count_frame(frames.head, frames.n_frames)
            offset, length = spans[0]
            spans[0] = (offset + frames.count_length, length - frames.count_length)
        self._spans = spans
        self._starts = [len(self._prefix)]  # where in this file each span begins
        for _, length in spans:
            self._starts.append(self._starts[-1] + length)
        super().__init__(self._starts[-1])

    def readinto(self, buffer: Any) -> int:
        if self._position < len(self._prefix):
            data = self._prefix[self._position :][: len(buffer)]
        else:
            span = bisect.bisect_right(self._starts, self._position) - 1
            if span >= len(self._spans):
                return 0
            offset, length = self._spans[span]
            inside = self._position - self._starts[span]
            self._file.seek(offset + inside)
            data = self._file.read(min(len(buffer), length - inside)) or b""
        return self.handed(data, buffer)


class _Reader:
    """Random access to a file through one buffer."""

    def __init__(self, file: SeekableFile) -> None:
        self._file = file
        self.size = file.seek(0, os.SEEK_END)
        self._start = 0
        self._data = b""

    def at(self, position: int, length: int) -> bytes:
        inside = position - self._start
        if inside < 0 or inside + length > len(self._data):
            self._file.seek(position)
            self._data = self._file.read(max(_READ, length)) or b""
            self._start, inside = position, 0
        return self._data[inside : inside + length]


def _skip_tags(reader: _Reader, position: int) -> int:
    """Where the tags (titles, cover pictures) that begin at `position` end."""
    while length := tag_length(reader.at(position, 32)):
        position += length
    return position


def tag_length(head: bytes) -> int:
    """Bytes of the tag (ID3, or one of MP3's) that begins so; 0: it is none."""
    if head[:3] == b"ID3" and len(head) >= 10:
        a, b, c, d = head[6:10]
        footer = 10 if head[5] & 0x10 else 0
        return 10 + footer + ((a & 127) << 21 | (b & 127) << 14 | (c & 127) << 7 | d & 127)
    if head[:3] == b"TAG":
        return 128
    if head[:8] == b"APETAGEX" and len(head) == 32:
        header = 32 if head[23] & 0x80 else 0
        return header + int.from_bytes(head[12:16], "little")
    return 0


def _first_frame(reader: _Reader) -> int | None:
    position = _skip_tags(reader, 0)
    found = _next_frame(reader, position, None)
    return None if found < 0 or found > position + _SEARCH else found


def _next_frame(reader: _Reader, position: int, like: FrameHeader | None) -> int:
    """The next place where a frame begins that others follow, or -1.

    The first frame of all must be followed by two more: 0xFF occurs in any file.
    """
    limit = reader.size if like else min(reader.size, position + _SEARCH)
    while position < limit:
        data = reader.at(position, min(4096, limit - position))
        offset = data.find(0xFF)
        if offset < 0:
            position += max(len(data), 1)
            continue
        position += offset
        place, kind, follow = position, like.kind if like else None, 0
        while follow < (2 if like else 3):
            header = parse_header(reader.at(place, 4))
            if header is None or (kind is not None and header.kind != kind):
                break
            kind, place, follow = header.kind, place + header.length, follow + 1
            if place >= reader.size:
                break
        if follow == (2 if like else 3) or (follow and place == reader.size):
            return position
        position += 1
    return -1


def _read_count(frame: bytes, header: FrameHeader) -> tuple[int, int | None]:
    """Bytes of a frame that only holds the count (0: it holds sound), and the count."""
    place = 4 + header.side_info
    if header.layer != 3 or frame[place : place + 4] not in (b"Xing", b"Info"):
        return 0, None
    if not frame[place + 7] & 1:  # says how long it is in bytes only
        return header.length, None
    return header.length, int.from_bytes(frame[place + 8 : place + 12], "big")


def _count_frame(head: bytes, n_frames: int) -> bytes:
    """A silent frame that holds a count, in the shape that the Xing encoder introduced."""
    # No checksum, no padding, and a bit rate with room enough.
    made = bytes([0xFF, head[1] | 1, _COUNT_BITRATE << 4 | head[2] & 0x0C, head[3]])
    header = parse_header(made)
    assert header is not None
    body = bytes(header.side_info) + b"Xing" + (1).to_bytes(4, "big") + n_frames.to_bytes(4, "big")
    return (made + body).ljust(header.length, b"\0")
