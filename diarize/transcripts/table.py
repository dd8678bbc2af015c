"""The table of formats of transcripts: how each is read and written, and which one a name says."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from pyannote.core import Annotation

from diarize.errors import InputError
from diarize.formats.lines import Source, read_text, stem_of
from diarize.formats.turns import Turn
from diarize.transcripts.ctm import ctm_text, parse_ctm
from diarize.transcripts.passages import Transcript, label
from diarize.transcripts.reading import markdown_text, plain_text
from diarize.transcripts.subtitles import (
    parse_srt_transcript,
    parse_vtt_transcript,
    srt_transcript_text,
    vtt_transcript_text,
)
from diarize.transcripts.whisper import parse_whisper, whisper_text
from diarize.transcripts.whisper_tsv import parse_whisper_tsv, whisper_tsv_text

TRANSCRIPTS = ("json", "srt", "vtt", "ctm", "tsv")
"""The formats of transcripts, which are the suffixes of their files too."""

FOR_READERS = ("txt", "md")
"""Formats that are written for people, and not read."""

_PARSE = {
    "json": parse_whisper,
    "srt": parse_srt_transcript,
    "vtt": parse_vtt_transcript,
    "ctm": lambda name, text, uri: parse_ctm(name, text) or [Transcript(uri, ())],
    "tsv": parse_whisper_tsv,
}
_WRITE = {
    "json": whisper_text,
    "srt": srt_transcript_text,
    "vtt": vtt_transcript_text,
    "tsv": whisper_tsv_text,
    "txt": plain_text,
    "md": markdown_text,
}


def read_transcripts(source: Source, format: str) -> list[Transcript]:
    """What a transcript says, by recording; all but CTM with words are named as the file's stem.

    `source` is a path, ``-`` (standard input) or an open file.

    Raises:
        InputError: no such format, or the file cannot be read.
    """
    name, text = read_text(source)
    return _PARSE[require_transcript(format)](name, text, stem_of(name))


def transcripts_text(transcripts: Sequence[Transcript], format: str) -> str:
    """The file that holds transcripts; only CTM holds several, or none.

    Raises:
        InputError: no such format, or one that cannot hold them.
    """
    if format == "ctm":
        return ctm_text(transcripts)
    if len(transcripts) != 1:
        raise InputError(f"{len(transcripts)} recordings: {format} holds one")
    return _WRITE[require_text(format)](transcripts[0])


def require_transcript(format: str) -> str:
    """The name itself, if there is such a format of transcripts.

    Raises:
        InputError: there is none.
    """
    if format not in TRANSCRIPTS:
        raise InputError(f"format {format}: a transcript is one of {', '.join(TRANSCRIPTS)}")
    return format


def require_text(format: str) -> str:
    """The name itself, if transcripts are written in such a format.

    Raises:
        InputError: there is none.
    """
    if format not in TRANSCRIPTS + FOR_READERS:
        known = ", ".join(TRANSCRIPTS + FOR_READERS)
        raise InputError(f"format {format}: a transcript is written as one of {known}")
    return format


def text_format(path: str | os.PathLike[str]) -> str | None:
    """The format in which a file of that name is written; None: it has no ending.

    Raises:
        InputError: no format has that ending.
    """
    ending = os.path.splitext(path)[1].lower().removeprefix(".")
    if ending and ending not in TRANSCRIPTS + FOR_READERS:
        known = ", .".join(TRANSCRIPTS + FOR_READERS)
        raise InputError(f"{os.fspath(path)}: a transcript is written to .{known}")
    return ending or None


def transcript_format(path: str | os.PathLike[str]) -> str:
    """The format that the ending of a file's name says.

    Raises:
        InputError: it says none.
    """
    ending = os.path.splitext(path)[1].lower().removeprefix(".")
    if ending not in TRANSCRIPTS:
        raise InputError(f"{os.fspath(path)}: a transcript ends in .{', .'.join(TRANSCRIPTS)}")
    return ending


def label_transcripts(
    transcripts: Sequence[Transcript], turns: Mapping[str, Annotation | Sequence[Turn]]
) -> list[Transcript]:
    """Put speakers onto transcripts, by the turns of their recordings.

    Names do not matter where there is one recording on both sides.

    Raises:
        InputError: there are no turns of a recording.
    """
    only = next(iter(turns.values())) if len(turns) == len(transcripts) == 1 else None
    labelled = []
    for transcript in transcripts:
        own = turns.get(transcript.uri, only)
        if own is None:
            raise InputError(f"no turns of {transcript.uri}")
        labelled.append(label(transcript, own))
    return labelled
