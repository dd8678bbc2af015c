"""The table of formats: how each is written and read, and which one a file's name says."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyannote.core import Annotation, Segment, Timeline

from diarize.errors import InputError, require_one_of
from diarize.formats.audacity import audacity_text, read_audacity
from diarize.formats.csv import CSV_HEADER, TSV_HEADER, csv_text, read_csv, read_tsv, tsv_text
from diarize.formats.eaf import eaf_text, read_eaf
from diarize.formats.json import json_text, read_json
from diarize.formats.lines import NUMBER, Source, name_of_source, read_text, stem_of
from diarize.formats.rttm import ENDING, rttm_text, rttm_turns
from diarize.formats.srt import read_srt, srt_text
from diarize.formats.textgrid import read_textgrid, textgrid_text
from diarize.formats.turns import Beside, Confidence, Turn, annotated, written_turns
from diarize.formats.uem import uem_text
from diarize.formats.vtt import read_vtt, vtt_text
from diarize.storage.files import files_in

_NOTHING = Beside()


@dataclass(frozen=True)
class Format:
    """A format of turns.

    Attributes:
        suffix: of its files, without the dot.
        write: text of an annotation, the options of the run, the confidence of segments and tracks,
            if it is known, and what is known beside them (`Beside`), if anything is.
        read: the turns of a file, by recording; None: it does not say who speaks.
        named: whether it says of which recording turns are, so that several may follow each other.
        holds_several: whether a file of it can hold, and be read as, several recordings.
        header: what such a file begins with, once for all of them.
    """

    suffix: str
    write: Callable[..., str]
    read: Callable[[Source], dict[str, list[Turn]]] | None
    named: bool = True
    holds_several: bool = False
    header: str = ""

    def joined(self, texts: Iterable[str]) -> str:
        """The texts of recordings as one file."""
        return self.header + "".join(text.removeprefix(self.header) for text in texts)


def _json(
    annotation: Annotation,
    options: Mapping[str, object],
    confidence: Confidence | None,
    beside: Beside = _NOTHING,
) -> str:
    notes, number, several = beside.notes, beside.number, beside.several
    return json_text(annotation, options, confidence, notes=notes, number=number, several=several)


def _textgrid(annotation: Annotation, _: object, __: object, beside: Beside = _NOTHING) -> str:
    return textgrid_text(annotation, beside.end)


def _eaf(annotation: Annotation, _: object, __: object, beside: Beside = _NOTHING) -> str:
    return eaf_text(annotation, beside.media, beside.home)


def _regions(annotation: Annotation) -> str:
    """Where somebody speaks, as UEM."""
    turns = [Segment(turn.start, turn.end) for turn in written_turns(annotation)]
    return uem_text(Timeline(turns, uri=annotation.uri).support())


def _table(suffix: str, text: Callable[..., str], read: Callable[..., Any], header: str) -> Format:
    def write(found: Annotation, _: object, sure: Confidence | None, *__: object) -> str:
        return text(found, sure)

    return Format(suffix, write, read, holds_several=True, header=header)


FORMATS: dict[str, Format] = {
    "rttm": Format("rttm", lambda found, *_: rttm_text(found), rttm_turns, holds_several=True),
    "json": Format("json", _json, read_json),
    "csv": _table("csv", csv_text, read_csv, CSV_HEADER),
    "tsv": _table("tsv", tsv_text, read_tsv, TSV_HEADER),
    "textgrid": Format("TextGrid", _textgrid, read_textgrid, named=False),
    "eaf": Format("eaf", _eaf, read_eaf, named=False),
    "audacity": Format("txt", lambda found, *_: audacity_text(found), read_audacity, named=False),
    "srt": Format("srt", lambda found, *_: srt_text(found), read_srt, named=False),
    "vtt": Format("vtt", lambda found, *_: vtt_text(found), read_vtt, named=False),
    "uem": Format("uem", lambda found, *_: _regions(found), None, holds_several=True),
}
"""Every format by its name."""


def format_of(path: str | os.PathLike[str]) -> str | None:
    """The format that a file's ending says, if it says one; ``.txt`` may hold anything."""
    ending = Path(path).suffix.lower()
    return next(
        (
            name
            for name, format in FORMATS.items()
            if ending == f".{format.suffix.lower()}" and ending != ".txt"
        ),
        None,
    )


def turns_format(path: str | os.PathLike[str]) -> str:
    """The format of a file of turns that does not have to say it: RTTM, or what its ending says.

    ``.txt`` is Audacity's, as it is written, where its first line begins with a time.
    """
    if Path(path).suffix.lower() == ".txt" and os.path.isfile(path):
        first = next(iter(read_text(path)[1].split()), "")
        return "audacity" if NUMBER.fullmatch(first) else "rttm"
    return format_of(path) or "rttm"


def written_format(path: str | os.PathLike[str]) -> str | None:
    """The format in which a file of that name is written; None: it has no ending.

    Of what is written, ``.txt`` is Audacity's.

    Raises:
        InputError: no format has that ending.
    """
    ending = Path(path).suffix
    if not ending:
        return None
    name = "audacity" if ending.lower() == ".txt" else format_of(path)
    if name is None:
        known = ", ".join(f".{format.suffix}" for format in FORMATS.values())
        raise InputError(f"{os.fspath(path)}: no format ends in {ending}, but in {known}")
    return name


def read_turns(source: Source, name: str | None = None) -> dict[str, list[Turn]]:
    """The turns of every recording that a file speaks of.

    One without any line speaks of a recording named as the file's stem.

    Args:
        source: a path, ``-`` (standard input) or an open file.
        name: of the format; None: as the file's ending says.

    Raises:
        InputError: there is no such format or it holds no speakers, or the file cannot be read.
    """
    if name is None:
        known = format_of(source) if isinstance(source, (str, os.PathLike)) else None
        if known is None:
            raise InputError(f"{name_of_source(source)}: its ending says no format: name it")
        name = known
    read = require_format(name).read
    if read is None:
        raise InputError(f"format {name}: does not say who speaks")
    return read(source) or {stem_of(name_of_source(source)): []}


def load_annotations(path: str | os.PathLike[str]) -> dict[str, Annotation]:
    """The turns of every recording in a file, or in all ``*.rttm`` files below a folder.

    A file is RTTM, or what its ending says.

    They come by uri; recordings of one uri in different sub-folders, as `diarize run` makes them,
    by sub-folder and uri (``monday/talk``). A file without any line stands for one recording
    without speech, named as the file's stem. Hidden files and folders are passed over.

    Raises:
        InputError: a file cannot be read or is wrong, a folder holds no RTTM file, or two files of
            one folder speak of the same recording.
    """
    if not os.path.isdir(path):
        return _load_file(path)
    found: dict[tuple[str, str], tuple[Annotation, Path]] = {}
    for file in files_in(Path(path), ENDING, below=True):
        folder = file.parent.relative_to(path).as_posix()
        for uri, annotation in _load_file(file).items():
            if (folder, uri) in found:
                raise InputError(f"{file}: {uri} is in {found[folder, uri][1].name} too")
            found[folder, uri] = annotation, file
    if not found:
        raise InputError(f"{os.fspath(path)}: no .rttm file in this folder")
    times = Counter(uri for _, uri in found)
    return {
        uri if times[uri] == 1 or folder == "." else f"{folder}/{uri}": annotation
        for (folder, uri), (annotation, _) in found.items()
    }


def _load_file(path: str | os.PathLike[str]) -> dict[str, Annotation]:
    found = read_turns(path, turns_format(path))
    return {uri: annotated(turns, uri)[0] for uri, turns in found.items()}


def require_format(name: str) -> Format:
    """The format of a name.

    Raises:
        InputError: there is none.
    """
    require_one_of("format", name, FORMATS)
    return FORMATS[name]
