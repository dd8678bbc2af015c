"""Text, lines, numbers and names, as all text formats of this field have them."""

from __future__ import annotations

import codecs
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from diarize.errors import InputError
from diarize.storage.files import standard_input


@runtime_checkable
class Readable(Protocol):
    """An open file, of text or of bytes."""

    def read(self) -> str | bytes: ...


Source: TypeAlias = str | os.PathLike[str] | Readable
"""What is read: a path, ``-`` (standard input) or an open file."""

STANDARD_INPUT = "standard input"

# Only these separate fields: a name may hold a no-break or an ideographic space.
_SEPARATORS = re.compile(r"[ \t\v\f]+")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
# Line breaks and other controls, and what XML cannot hold.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]+")
_VISIBLE = re.compile(r"\S")
MAX_SECONDS = 1e9  # thirty years: such a time is a mistake, or not in seconds


def records(source: Source) -> Iterator[tuple[list[str], int, str]]:
    """Fields, line number and name of the file, for each line that is not blank and no comment.

    `source` is a path, ``-`` (standard input) or an open file. Text is UTF-8, with or without a
    byte order mark; lines end in LF, CRLF or CR; a comment begins with ``;`` or ``#``.

    Raises:
        InputError: the file cannot be read or is no UTF-8 text.
    """
    name, text = read_text(source)
    for number, line in enumerate(split_lines(text), start=1):
        fields = split_fields(line)
        if fields and fields[0][0] not in ";#":
            yield fields, number, name


def split_lines(text: str) -> list[str]:
    """The lines of a text, which end in LF, CRLF or CR; behind the last end there is one more."""
    return re.split(r"\r\n|\n|\r", text)


@contextmanager
def blaming(place: str) -> Iterator[None]:
    """Make a ValueError an InputError that says the place too, of a file, say."""
    try:
        yield
    except ValueError as error:
        raise InputError(f"{place}: {error}") from None


def split_fields(line: str) -> list[str]:
    """The fields of a line; blanks and tabs separate them, other white space is part of a name."""
    return [field for field in _SEPARATORS.split(line) if field]


def seconds(text: str, what: str) -> float:
    """A time or a duration; `what` names it in the error.

    Raises:
        ValueError: not a number, negative, or beyond all reason.
    """
    if not NUMBER.fullmatch(text):
        raise ValueError(f"{what} {shorten(text)} is not a number")
    value = float(text)
    if value < 0:
        raise ValueError(f"{what} {text} is negative")
    if value > MAX_SECONDS:
        raise ValueError(f"{what} {shorten(text)} is too large for seconds")
    return value


def probability(value: float) -> float:
    """A confidence, 0 to 1, which a number from 0 on may be.

    Raises:
        ValueError: it is above 1.
    """
    if value > 1:
        raise ValueError(f"the confidence {value:g} is above 1")
    return value


def times(start: str, end: str) -> tuple[float, float]:
    """When something begins and ends.

    Raises:
        ValueError: as `seconds`, or the end is before the start.
    """
    return in_order(seconds(start, "the start"), seconds(end, "the end"))


def in_order(start: float, end: float) -> tuple[float, float]:
    """The same times, unless the end is before the start, which is a ValueError."""
    if end < start:
        raise ValueError(f"the end {end:g} is before the start {start:g}")
    return start, end


def parse_json(name: str, content: str | bytes) -> Any:
    """What JSON holds.

    Raises:
        InputError: it is none; names the file.
    """
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON ({error})") from error


def parse_jsons(name: str, text: str) -> list[Any]:
    """What each of the JSON values holds that follow each other in a text, at least one.

    Raises:
        InputError: there is none, or something else follows it; names the file.
    """
    decoder, text = json.JSONDecoder(), text.lstrip()
    values: list[Any] = []
    begin = 0
    try:
        while True:
            value, end = decoder.raw_decode(text, begin)
            values.append(value)
            following = _VISIBLE.search(text, end)
            if following is None:
                return values
            begin = following.start()
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not JSON ({error})") from error


def token(name: object) -> str:
    """A name as one field: white space becomes ``_``; nothing at all becomes ``<NA>``."""
    return re.sub(r"\s", "_", unicode(name)) or "<NA>"


def name_line(name: object) -> str:
    """A name as one line: line breaks and controls become a blank; nothing becomes ``<NA>``."""
    return _CONTROLS.sub(" ", unicode(name)).strip() or "<NA>"


def unicode(name: object) -> str:
    """A name that can be written as UTF-8: bytes of odd file names become escapes."""
    return str(name).encode("utf-8", "backslashreplace").decode("utf-8")


def stem_of(name: str) -> str:
    """The name of the recording that a file speaks of when it does not say: the file's stem."""
    return "stdin" if name == STANDARD_INPUT else token(Path(name).stem)


def shorten(text: str) -> str:
    """`text` in quotes, on one line, of bounded length."""
    return repr(text if len(text) <= 40 else text[:37] + "...")


def name_of_source(source: Source) -> str:
    """How messages call a source."""
    if isinstance(source, (str, os.PathLike)):
        return STANDARD_INPUT if os.fspath(source) == "-" else os.fspath(source)
    return str(getattr(source, "name", "input"))


def read_text(source: Source) -> tuple[str, str]:
    """Name and whole text of a source: UTF-8, or what its byte order mark says.

    Raises:
        InputError: the file cannot be read or is no such text.
    """
    name = name_of_source(source)
    content: bytes | str
    try:
        if not isinstance(source, (str, os.PathLike)):
            content = source.read()
        elif os.fspath(source) == "-":
            content = standard_input().buffer.read()
        else:
            content = Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror or error}") from error
    if isinstance(content, str):
        return name, content.removeprefix("\ufeff")
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):  # as Praat writes names
        try:
            return name, content.decode("utf-16")
        except UnicodeDecodeError as error:
            raise InputError(f"{name}: not UTF-16 text, though it begins so") from error
    try:
        return name, content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}, line {line}: not UTF-8 text") from error
