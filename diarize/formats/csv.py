"""CSV and TSV: a header and a line for each turn, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from pyannote.core import Annotation

from diarize.errors import InputError
from diarize.formats.lines import (
    Source,
    probability,
    read_text,
    seconds,
    stem_of,
    times,
    token,
    unicode,
)
from diarize.formats.turns import Confidence, Turn, written_turns

COLUMNS = ("uri", "start", "end", "speaker", "confidence")
CSV_HEADER, TSV_HEADER = (delimiter.join(COLUMNS) + "\n" for delimiter in (",", "\t"))
_NEEDED = ("start", "end", "speaker")


def csv_text(
    annotation: Annotation, confidence: Confidence | None = None, *, delimiter: str = ","
) -> str:
    """All turns under a header, sorted by start, end and speaker; times in seconds.

    A name that holds the delimiter, quotes or line breaks (which become line feeds) is quoted as
    RFC 4180 has it. The confidence of a turn is empty where it is not known.
    """
    text = io.StringIO()
    lines = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    lines.writerow(COLUMNS)
    uri = token("" if annotation.uri is None else annotation.uri)
    for turn in written_turns(annotation, confidence):
        sure = "" if turn.confidence is None else f"{turn.confidence:.3f}"
        speaker = re.sub(r"\r\n?", "\n", unicode(turn.speaker))
        lines.writerow((uri, f"{turn.start:.3f}", f"{turn.end:.3f}", speaker, sure))
    return text.getvalue()


def read_csv(source: Source, *, delimiter: str = ",") -> dict[str, list[Turn]]:
    """The turns of every recording, by uri in order of appearance.

    The columns are found by their names, in whatever order; `start`, `end` and `speaker` must be
    there, others than those of `COLUMNS` are passed over. Turns without `uri` belong to a recording
    named as the file's stem.

    Raises:
        InputError: the file cannot be read, or a line is wrong; names file, line and reason.
    """
    name, text = read_text(source)
    lines = csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)
    found: dict[str, list[Turn]] = {}
    try:
        missing = [column for column in _NEEDED if column not in (lines.fieldnames or ())]
        if missing:
            raise ValueError(f"no column '{missing[0]}' in the header")
        for fields in lines:
            uri, turn = _turn(fields)
            found.setdefault(token(uri or stem_of(name)), []).append(turn)
    except (ValueError, csv.Error) as error:
        raise InputError(f"{name}, line {lines.line_num}: {error}") from None
    return found


def _turn(fields: Mapping[Any, Any]) -> tuple[str, Turn]:
    if None in fields:  # what is beyond the columns, as decimal commas make it
        raise ValueError("more fields than columns")
    empty = next((column for column in _NEEDED if fields[column] is None), None)
    if empty is not None:
        raise ValueError(f"no {empty}: too few fields")
    start, end = times(str(fields["start"]).strip(), str(fields["end"]).strip())
    sure = (fields.get("confidence") or "").strip()
    confidence = probability(seconds(sure, "the confidence")) if sure else None
    return fields.get("uri") or "", Turn(start, end, str(fields["speaker"]), confidence)


tsv_text = partial(csv_text, delimiter="\t")
read_tsv = partial(read_csv, delimiter="\t")
