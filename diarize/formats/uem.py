"""UEM, the NIST format of the regions to be scored: one line per region."""

from __future__ import annotations

from pyannote.core import Segment, Timeline

from diarize.formats.lines import Source, blaming, records, times, token


def read_uem(source: Source) -> dict[str, Timeline]:
    """The scored regions of every recording in a UEM file, disjoint and sorted, by uri.

    UTF-8. Regions that overlap or touch become one; channels are not told apart.

    Raises:
        InputError: the file cannot be read, or a line is wrong; names file, line and reason.
    """
    regions: dict[str, list[Segment]] = {}
    for fields, number, name in records(source):
        with blaming(f"{name}, line {number}"):
            region = _region(fields)
        regions.setdefault(fields[0], []).append(region)
    return {uri: Timeline(segments, uri=uri).support() for uri, segments in regions.items()}


def _region(fields: list[str]) -> Segment:
    if len(fields) != 4:
        raise ValueError(f"{len(fields)} fields: a UEM line has 4 (file, channel, start, end)")
    return Segment(*times(*fields[2:]))


def uem_text(timeline: Timeline) -> str:
    """All regions as UEM lines, in order of time, white space in names as ``_``."""
    uri = token("" if timeline.uri is None else timeline.uri)
    return "".join(f"{uri} 1 {region.start:.3f} {region.end:.3f}\n" for region in timeline)
