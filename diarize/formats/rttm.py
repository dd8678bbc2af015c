"""RTTM, the NIST format of speaker turns: one line per turn."""

from __future__ import annotations

from pyannote.core import Annotation

from diarize.formats.lines import Source, blaming, records, seconds, shorten, token
from diarize.formats.turns import Turn, annotated, written_turns

ENDING = ".rttm"  # of the files of a folder that are read

# The other line types of the RT-09 evaluation plan, appendix A, and of md-eval: no turns in them.
_OTHER_TYPES = frozenset(
    {
        "A/P", "CB", "EDIT", "FILLER", "IP", "LEXEME", "NON-LEX", "NON-SPEECH", "NOSCORE",
        "NO_RT_METADATA", "SEGMENT", "SPKR-INFO", "SU",
    }
)  # fmt: skip

# Turns are read to the microsecond, so that start + duration meets the next start exactly.
_READ_DECIMALS = 6


def rttm_line(uri: str, start: float, end: float, speaker: str) -> str:
    """The line of a turn without its end, times with three decimals, white space in names as ``_``.

    >>> rttm_line("talk", 0.5, 2.75, "ann")
    'SPEAKER talk 1 0.500 2.250 <NA> <NA> ann <NA> <NA>'
    """
    return (
        f"SPEAKER {token(uri)} 1 {start:.3f} {end - start:.3f} <NA> <NA> {token(speaker)} <NA> <NA>"
    )


def read_rttm(source: Source) -> dict[str, Annotation]:
    """The turns of every recording in an RTTM file, by uri in order of appearance.

    UTF-8. Lines of the standard's other types are passed over, and so are turns of no length; a
    recording that occurs in such lines only has an empty annotation. Channels are not told apart.

    Raises:
        InputError: the file cannot be read, or a line is wrong; names file, line and reason.
    """
    return {uri: annotated(turns, uri)[0] for uri, turns in rttm_turns(source).items()}


def rttm_turns(source: Source) -> dict[str, list[Turn]]:
    """The turns of `read_rttm`, sorted by start and end; those given twice stay two."""
    found: dict[str, list[Turn]] = {}
    for fields, number, name in records(source):
        with blaming(f"{name}, line {number}"):
            turn = _turn(fields)
        turns = found.setdefault(fields[1], [])
        if turn is not None and turn.end > turn.start:
            turns.append(turn)
    return {uri: sorted(turns, key=lambda turn: turn[:2]) for uri, turns in found.items()}


def _turn(fields: list[str]) -> Turn | None:
    """The turn of a line; None for a line of another type of the standard."""
    kind = fields[0].upper()
    if len(fields) > 1 and kind in _OTHER_TYPES:
        return None
    if kind != "SPEAKER":
        raise ValueError(f"{shorten(fields[0])} is no line type of RTTM: SPEAKER expected")
    if len(fields) not in (9, 10):
        raise ValueError(f"{len(fields)} fields: a SPEAKER line has 10, or 9 without the last")
    start = seconds(fields[3], "the start")
    end = start + seconds(fields[4], "the duration")
    return Turn(round(start, _READ_DECIMALS), round(end, _READ_DECIMALS), fields[7])


def rttm_text(annotation: Annotation) -> str:
    """All turns as RTTM lines, sorted by start, end and speaker; empty where there are none.

    Times are rounded to the millisecond; a turn shorter than that is dropped.
    """
    uri = "" if annotation.uri is None else annotation.uri
    return "".join(rttm_line(uri, *turn[:3]) + "\n" for turn in written_turns(annotation))
