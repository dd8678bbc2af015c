"""UEM, the NIST format of the regions to be scored: one line per region."""

from __future__ import annotations

from dataclasses import dataclass

from pyannote.core import Segment, Timeline

from diarize.errors import InputError
from diarize.formats.lines import Source, records, split_fields, times, token


@dataclass(frozen=True)
class UemLine:
    """A region of a recording, from `start` to `end` seconds, that is to be scored.

    >>> line = UemLine.parse("talk 1 0.000 92.500")
    >>> line
    UemLine(uri='talk', start=0.0, end=92.5, channel='1')
    >>> line.serialise()
    'talk 1 0.000 92.500'
    """

    uri: str
    start: float
    end: float
    channel: str = "1"

    @classmethod
    def parse(cls, text: str) -> UemLine:
        """The region of a line.

        Raises:
            ValueError: missing fields, an end before the start, times that are no numbers.
        """
        return cls.from_fields(split_fields(text))

    @classmethod
    def from_fields(cls, fields: list[str]) -> UemLine:
        """The region of a line that is split already; raises as `parse`."""
        if len(fields) != 4:
            raise ValueError(f"{len(fields)} fields: a UEM line has 4 (file, channel, start, end)")
        uri, channel, start, end = fields
        return cls(uri, *times(start, end), channel)

    def serialise(self) -> str:
        """The line without its end, times with three decimals, white space in names as ``_``."""
        return f"{token(self.uri)} {token(self.channel)} {self.start:.3f} {self.end:.3f}"


def read_uem(source: Source) -> dict[str, Timeline]:
    """The scored regions of every recording in a UEM file, disjoint and sorted, by uri.

    UTF-8. Regions that overlap or touch become one; channels are not told apart.

    Raises:
        InputError: the file cannot be read, or a line is wrong; names file, line and reason.
    """
    regions: dict[str, list[Segment]] = {}
    for fields, number, name in records(source):
        try:
            line = UemLine.from_fields(fields)
        except ValueError as error:
            raise InputError(f"{name}, line {number}: {error}") from None
        regions.setdefault(line.uri, []).append(Segment(line.start, line.end))
    return {uri: Timeline(segments, uri=uri).support() for uri, segments in regions.items()}


def uem_text(timeline: Timeline) -> str:
    """All regions as UEM lines, in order of time."""
    uri = "" if timeline.uri is None else timeline.uri
    return "".join(UemLine(uri, region.start, region.end).serialise() + "\n" for region in timeline)
