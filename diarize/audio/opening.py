"""Which decoder reads a file: soundfile's first, PyAV where that cannot."""

from __future__ import annotations

from diarize.audio.decoders import Decoder
from diarize.audio.inputs import Input
from diarize.errors import InputError, extra

# How files of other containers begin (place, bytes), and FFmpeg's name of the demuxer. Only these
# are handed to FFmpeg, which would guess at anything, playlists that name other files included.
_CONTAINERS = (
    (4, b"ftyp", "mov"), (4, b"moov", "mov"), (4, b"mdat", "mov"), (4, b"free", "mov"),
    (4, b"wide", "mov"), (4, b"skip", "mov"), (0, b"\x1aE\xdf\xa3", "matroska"),
    (8, b"AVI ", "avi"), (8, b"WAVE", "wav"), (8, b"AIF", "aiff"), (0, b"caff", "caf"),
    (0, b"fLaC", "flac"), (0, b"OggS", "ogg"), (0, b"0&\xb2u", "asf"), (0, b"FLV", "flv"),
    (0, b"#!AMR", "amr"), (0, b"\x0bw", "ac3"), (0, b"wvpk", "wv"), (0, b"MAC ", "ape"),
    (0, b"TTA", "tta"), (0, b"\0\0\x01\xba", "mpeg"), (188, b"G", "mpegts"),
    (0, b"\xff\xf1", "aac"), (0, b"\xff\xf9", "aac"),
)  # fmt: skip


def open_decoder(source: Input) -> Decoder:
    """Find what can decode a file.

    Raises:
        InputError: nothing can; the reason is told in words.
    """
    import soundfile

    from diarize.audio.mpeg import tag_length
    from diarize.audio.sndfile import SoundFileDecoder

    try:
        return SoundFileDecoder(source)
    except soundfile.LibsndfileError as error:
        reason = error
    with source.open() as view:
        head = view.read(512) or b""
        if head.startswith(b"ID3"):  # a tag in front of the sound
            view.seek(tag_length(head))
            head = view.read(512) or b""
    demuxer = _find_demuxer(head)
    if demuxer is None:
        raise InputError(f"{source.label}: {_what_is(head)}") from reason
    why = "this kind of file is read through PyAV, which is not installed"
    extra("av", f"{source.label}: {why}", "av")
    from diarize.audio.containers import ContainerDecoder

    return ContainerDecoder(source, demuxer)


def _find_demuxer(head: bytes) -> str | None:
    for place, magic, name in _CONTAINERS:
        # A transport stream has its one letter at the start of each packet.
        if head[place:].startswith(magic) and (name != "mpegts" or head[:1] == magic):
            return name
    return None


def _what_is(head: bytes) -> str:
    text = head.decode("utf-8", errors="ignore")
    if text and len(text.encode()) >= len(head) - 3 and (text.isprintable() or _is_lines(text)):
        return "is text, not a recording"
    return "is not a recording in a format that can be read"


def _is_lines(text: str) -> bool:
    return all(line.isprintable() for line in text.replace("\t", " ").splitlines())
