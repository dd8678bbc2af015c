"""How much sound the header of an uncompressed file declares, and how an Ogg file ends.

libsndfile corrects what a header declares by what is there, without a word: a recording that was
cut off would be taken for a whole one.
"""

from __future__ import annotations

import os
import re
import struct
from dataclasses import dataclass
from typing import Any

from diarize.audio.inputs import PlacedBytes, SeekableFile

_MOST_CHUNKS = 10_000  # in front of the sound; more is no recording
_NEAR = 1 << 16  # bytes
_BEGINS = 2  # the flag of a page of Ogg with which a stream begins
# Sizes near which those lie that programs write into a pipe, where they do not know the length.
_PLACEHOLDERS = (0x7F000000, 1 << 31, 1 << 32)


@dataclass(frozen=True)
class DeclaredSound:
    """The bytes of sound of a file: those that its header declares, and those that are there."""

    declared: int
    held: int


@dataclass(frozen=True)
class _Chunks:
    """How the chunks of a kind of file are laid out: a name, a size, and a body."""

    first: int  # where the first one begins
    name_length: int
    size: str  # as struct reads it
    counts_itself: bool  # the size is that of the whole chunk, not of its body
    align: int
    sound: bytes  # name of the chunk that holds it
    lead: int = 0  # bytes of that chunk in front of the sound


_RIFF = _Chunks(12, 4, "<I", False, 2, b"data")
# The first four bytes of a file, and four further ones with their place.
_LAYOUTS = (
    (b"RIFF", 8, b"WAVE", _RIFF),
    (b"RF64", 8, b"WAVE", _RIFF),
    (b"BW64", 8, b"WAVE", _RIFF),
    (b"RIFX", 8, b"WAVE", _Chunks(12, 4, ">I", False, 2, b"data")),
    (b"FORM", 8, b"AIFF", _Chunks(12, 4, ">I", False, 2, b"SSND", 8)),
    (b"FORM", 8, b"AIFC", _Chunks(12, 4, ">I", False, 2, b"SSND", 8)),
    (b"riff", 24, b"wave", _Chunks(40, 16, "<q", True, 8, b"data")),  # Sony Wave64
    (b"caff", 4, b"\0\1\0\0", _Chunks(8, 4, ">q", False, 1, b"data", 4)),
)


def declared_sound(file: SeekableFile) -> DeclaredSound | None:
    """Find what the header of a wav, aiff, au, w64, caf or NIST file declares.

    None: it is another kind of file, or its header does not say, as that of a pipe, which is
    written before the length is known.
    """
    total = file.seek(0, os.SEEK_END)
    head = _read(file, 0, 1024)
    found = _find_chunk(file, head) or _of_au(head) or _of_nist(head)
    if found is None or _is_placeholder(found[1]):
        return None
    begin, declared = found
    return DeclaredSound(declared, max(0, min(declared, total - begin)))


def ends_within_page(file: SeekableFile) -> bool:
    """Whether an Ogg file ends in the middle of a page. A missing last page cannot be told."""
    page = _last_page(file)
    if page is None:
        return False
    if len(page) < 27 or len(page) < 27 + page[26]:
        return True
    return len(page) < 27 + page[26] + sum(page[27 : 27 + page[26]])


def is_chained(file: SeekableFile) -> bool:
    """Whether an Ogg file is several, one after the other; libsndfile reads the first alone."""
    page = _last_page(file)
    if page is None or len(page) < 18:
        return False
    # Streams that are read together all begin in front of anything else; each has its number.
    begun, place = set(), 0
    while True:
        head = _read(file, place, 27 + 255)
        if head[:4] != b"OggS" or len(head) < 27 or not head[5] & _BEGINS:
            return page[14:18] not in begun
        begun.add(head[14:18])
        place += 27 + head[26] + sum(head[27 : 27 + head[26]])


def _last_page(file: SeekableFile) -> bytes | None:
    """What there is of the last page of an Ogg file, and what follows it; None: it is none."""
    size = file.seek(0, os.SEEK_END)
    tail = _read(file, max(0, size - _NEAR - 512), _NEAR + 512)  # a page has at most 65 307 bytes
    pages = list(re.finditer(rb"OggS(?:\0[\0-\7]|\0?$)", tail))
    if not pages or _read(file, 0, 4) != b"OggS":
        return None
    return tail[pages[-1].start() :]


def open_end(file: SeekableFile) -> int | None:
    """Where a wav file says that its sound has no bytes, as a pipe's, although some follow."""
    total = file.seek(0, os.SEEK_END)
    head = _read(file, 0, 1024)
    if head[:4] != b"RIFF":
        return None
    begin, size = _find_chunk(file, head) or (total, 0)
    if size or begin >= total:
        return None
    follows = _read(file, begin, 8)
    length = int.from_bytes(follows[4:], "little")
    if follows[:4].strip().isalnum() and length <= total - begin - 8:
        return None  # another chunk: there is no sound
    return begin - 4


class OpenEnded(PlacedBytes):
    """A wav file whose length of sound reads as libsndfile expects it where it is not known."""

    def __init__(self, file: SeekableFile, place: int) -> None:
        super().__init__(file.seek(0, os.SEEK_END))
        self._file = file
        self._place = place

    def readinto(self, buffer: Any) -> int:
        self._file.seek(self._position)
        data = bytearray(self._file.read(len(buffer)) or b"")
        for n in range(4):
            if 0 <= self._place + n - self._position < len(data):
                data[self._place + n - self._position] = 0xFF
        return self.handed(data, buffer)


def _find_chunk(file: SeekableFile, head: bytes) -> tuple[int, int] | None:
    """Where the sound begins, and how many bytes of it are declared."""
    layout = next(
        (
            layout
            for magic, place, kind, layout in _LAYOUTS
            if head.startswith(magic) and head[place:].startswith(kind)
        ),
        None,
    )
    if layout is None:
        return None
    place, long_size = layout.first, None
    header = layout.name_length + struct.calcsize(layout.size)
    for _ in range(_MOST_CHUNKS):
        start = _read(file, place, header)
        if len(start) < header:
            return None
        name = start[: layout.name_length]
        (size,) = struct.unpack(layout.size, start[layout.name_length :])
        body = place + header
        if name == b"ds64":  # RF64 has the sizes that four bytes cannot hold in here
            long_size = int.from_bytes(_read(file, body + 8, 8), "little", signed=True)
        if name.startswith(layout.sound):
            if long_size is not None and size == 0xFFFFFFFF:
                size = long_size
            own = header if layout.counts_itself else 0
            return body + layout.lead, size if size <= 0 else size - own - layout.lead
        end = max(place + size, body) if layout.counts_itself else body + max(size, 0)
        place = end + -end % layout.align
    return None


def _of_au(head: bytes) -> tuple[int, int] | None:
    if head[:4] != b".snd" or len(head) < 12:
        return None
    begin, size = struct.unpack(">II", head[4:12])
    return begin, size


def _of_nist(head: bytes) -> tuple[int, int] | None:
    if not head.startswith(b"NIST_1A\n"):
        return None
    fields = dict(re.findall(rb"(\w+) -i (\d+)", head))
    needed = (b"sample_count", b"sample_n_bytes", b"channel_count")
    if not all(name in fields for name in needed):
        return None
    count, width, channels = (int(fields[name]) for name in needed)
    return len(head), count * width * channels


def _is_placeholder(size: int) -> bool:
    """Whether a size is what programs write that do not know it, as 0 and -1."""
    near = (abs(size - placeholder) <= _NEAR for placeholder in _PLACEHOLDERS)
    return size <= 0 or size >= 1 << 62 or any(near)


def _read(file: SeekableFile, place: int, length: int) -> bytes:
    file.seek(place)
    return file.read(length) or b""
