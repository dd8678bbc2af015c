"""RTTM, the NIST format of speaker turns: one line per turn."""

from __future__ import annotations

from dataclasses import dataclass

from pyannote.core import Annotation, Segment

from diarize.errors import InputError
from diarize.formats.lines import (
    Source,
    records,
    seconds,
    shorten,
    split_fields,
    token,
)
from diarize.formats.turns import written_turns

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


@dataclass(frozen=True)
class RttmLine:
    """A turn: who speaks in which recording, from `start` for `duration` seconds.

    >>> line = RttmLine.parse("SPEAKER talk 1 0.500 2.250 <NA> <NA> ann <NA> <NA>")
    >>> line
    RttmLine(uri='talk', start=0.5, duration=2.25, speaker='ann', channel='1')
    >>> line.serialise()
    'SPEAKER talk 1 0.500 2.250 <NA> <NA> ann <NA> <NA>'
    """

    uri: str
    start: float
    duration: float
    speaker: str
    channel: str = "1"

    @classmethod
    def parse(cls, text: str) -> RttmLine:
        """The turn of a SPEAKER line.

        Raises:
            ValueError: another type, missing fields, times that are negative or no numbers.
        """
        return cls.from_fields(split_fields(text))

    @classmethod
    def from_fields(cls, fields: list[str]) -> RttmLine:
        """The turn of a SPEAKER line that is split already; raises as `parse`."""
        if not fields or fields[0].upper() != "SPEAKER":
            kind = shorten(fields[0] if fields else "")
            raise ValueError(f"{kind} is no line type of RTTM: SPEAKER expected")
        if len(fields) not in (9, 10):
            raise ValueError(f"{len(fields)} fields: a SPEAKER line has 10, or 9 without the last")
        _, uri, channel, start, duration, _, _, speaker, *_ = fields
        return cls(
            uri, seconds(start, "the start"), seconds(duration, "the duration"), speaker, channel
        )

    def serialise(self) -> str:
        """The line without its end, times with three decimals, white space in names as ``_``."""
        return (
            f"SPEAKER {token(self.uri)} {token(self.channel)} {self.start:.3f} {self.duration:.3f}"
            f" <NA> <NA> {token(self.speaker)} <NA> <NA>"
        )


def read_rttm(source: Source) -> dict[str, Annotation]:
    """The turns of every recording in an RTTM file, by uri in order of appearance.

    UTF-8. Lines of the standard's other types are passed over, and so are turns of no length; a
    recording that occurs in such lines only has an empty annotation. Channels are not told apart.

    Raises:
        InputError: the file cannot be read, or a line is wrong; names file, line and reason.
    """
    annotations: dict[str, Annotation] = {}
    for track, (fields, number, name) in enumerate(records(source)):
        try:
            line = _turn_of(fields)
        except ValueError as error:
            raise InputError(f"{name}, line {number}: {error}") from None
        uri = fields[1]
        if uri not in annotations:
            annotations[uri] = Annotation(uri=uri)
        if line is None:
            continue
        turn = Segment(
            round(line.start, _READ_DECIMALS), round(line.start + line.duration, _READ_DECIMALS)
        )
        if turn:
            annotations[uri][turn, track] = line.speaker
    return annotations


def _turn_of(fields: list[str]) -> RttmLine | None:
    """The turn of a line; None for a line of another type of the standard."""
    if len(fields) > 1 and fields[0].upper() in _OTHER_TYPES:
        return None
    return RttmLine.from_fields(fields)


def rttm_text(annotation: Annotation) -> str:
    """All turns as RTTM lines, sorted by start, end and speaker; empty where there are none.

    Times are rounded to the millisecond; a turn shorter than that is dropped.
    """
    uri = token("" if annotation.uri is None else annotation.uri)
    return "".join(
        RttmLine(uri, turn.start, turn.end - turn.start, turn.speaker).serialise() + "\n"
        for turn in written_turns(annotation)
    )
