"""EAF, the format of ELAN: XML with a tier for each speaker."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

from pyannote.core import Annotation

from diarize.errors import InputError
from diarize.formats.lines import (
    MAX_SECONDS,
    Source,
    blaming,
    name_line,
    read_text,
    shorten,
    stem_of,
)
from diarize.formats.turns import Turn, written_tiers

_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_SCHEMA = "http://www.mpi.nl/tools/elan/EAFv3.0.xsd"
_TYPE = "default-lt"  # the linguistic type that ELAN gives a new file
# The schema asks for a date, and the same result has the same bytes.
_DATE = "1970-01-01T00:00:00+00:00"


def eaf_text(annotation: Annotation, media: Path | None = None, home: Path | None = None) -> str:
    """A tier for each speaker, by first appearance, and in it an annotation for each turn.

    The tier is called by the speaker, and so is the value of its annotations; turns in which a
    speaker overlaps himself become one. The recording is linked, from the folder `home` (None: the
    recording's own) and by its whole path; where no file of it is known, ELAN asks for one.
    """
    root = ElementTree.Element(
        "ANNOTATION_DOCUMENT",
        {
            "AUTHOR": "diarize",
            "DATE": _DATE,
            "FORMAT": "3.0",
            "VERSION": "3.0",
            "xmlns:xsi": _XSI,
            "xsi:noNamespaceSchemaLocation": _SCHEMA,
        },
    )
    header = ElementTree.SubElement(root, "HEADER", MEDIA_FILE="", TIME_UNITS="milliseconds")
    if media is not None:
        media = Path(os.path.normpath(media.absolute()))
        way = os.path.relpath(media.parent, media.parent if home is None else home.absolute())
        relative = "./" if way == "." else f"./{quote(Path(way).as_posix())}/"
        ElementTree.SubElement(
            header,
            "MEDIA_DESCRIPTOR",
            MEDIA_URL=media.as_uri(),
            MIME_TYPE="audio/x-wav" if media.suffix.lower() == ".wav" else "audio/*",
            RELATIVE_MEDIA_URL=relative + media.as_uri().rpartition("/")[2],
        )
    order = ElementTree.SubElement(root, "TIME_ORDER")
    number = 0
    for speaker, turns in written_tiers(annotation).items():
        tier = ElementTree.SubElement(root, "TIER", LINGUISTIC_TYPE_REF=_TYPE, TIER_ID=speaker)
        for turn in turns:
            number += 1
            slots = (f"ts{2 * number - 1}", f"ts{2 * number}")
            for slot, time in zip(slots, (turn.start, turn.end), strict=True):
                ElementTree.SubElement(
                    order, "TIME_SLOT", TIME_SLOT_ID=slot, TIME_VALUE=str(round(time * 1000))
                )
            entry = ElementTree.SubElement(
                ElementTree.SubElement(tier, "ANNOTATION"),
                "ALIGNABLE_ANNOTATION",
                ANNOTATION_ID=f"a{number}",
                TIME_SLOT_REF1=slots[0],
                TIME_SLOT_REF2=slots[1],
            )
            ElementTree.SubElement(entry, "ANNOTATION_VALUE").text = speaker
    ElementTree.SubElement(
        root,
        "LINGUISTIC_TYPE",
        GRAPHIC_REFERENCES="false",
        LINGUISTIC_TYPE_ID=_TYPE,
        TIME_ALIGNABLE="true",
    )
    ElementTree.indent(root)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + ElementTree.tostring(root, encoding="unicode")
        + "\n"
    )


def read_eaf(source: Source) -> dict[str, list[Turn]]:
    """The turns of a recording that is named as the file's stem.

    Each tier is a speaker, who speaks while an annotation lasts, whatever it says; tiers that
    depend on others (words of a turn, say) are passed over, and so are annotations that ELAN has
    given no times.

    Raises:
        InputError: the file cannot be read, or is no ELAN file.
    """
    name, text = read_text(source)
    try:
        root = ElementTree.fromstring(text.encode("utf-8"), ElementTree.XMLParser(encoding="utf-8"))
    except ElementTree.ParseError as error:
        raise InputError(f"{name}: not XML ({error})") from None
    if root.tag != "ANNOTATION_DOCUMENT":
        raise InputError(f"{name}: not an ELAN file, but <{shorten(root.tag)}>")
    with blaming(name):
        times = {
            slot.get("TIME_SLOT_ID"): _seconds(slot.get("TIME_VALUE"))
            for slot in root.iterfind("TIME_ORDER/TIME_SLOT")
        }
        turns = [
            turn
            for tier in root.iterfind("TIER")
            if tier.get("PARENT_REF") is None
            for turn in _turns(tier, times)
        ]
    return {stem_of(name): sorted(turns, key=lambda turn: turn[:3])}


def _turns(tier: ElementTree.Element, times: dict[str | None, float | None]) -> list[Turn]:
    speaker = name_line(tier.get("TIER_ID", ""))
    turns = []
    for entry in tier.iterfind("ANNOTATION/ALIGNABLE_ANNOTATION"):
        start, end = (times.get(entry.get(f"TIME_SLOT_REF{edge}")) for edge in (1, 2))
        if start is None or end is None:
            continue
        if end < start:
            raise ValueError(f"an annotation of tier {shorten(speaker)} ends before it starts")
        turns.append(Turn(start, end, speaker))
    return turns


def _seconds(milliseconds: str | None) -> float | None:
    if milliseconds is None:
        return None
    if not (milliseconds.isascii() and milliseconds.isdecimal()):
        raise ValueError(f"the time {shorten(milliseconds)} is no count of milliseconds")
    time = int(milliseconds) / 1000 if len(milliseconds) < 20 else MAX_SECONDS + 1
    if time > MAX_SECONDS:
        raise ValueError(f"the time {shorten(milliseconds)} is too large for milliseconds")
    return time
