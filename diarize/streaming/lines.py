"""What a stream says, as lines of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from diarize.streaming.turns import Turn


def lines_of(turns: Sequence[Turn]) -> Iterator[str]:
    """One object for each turn of a millisecond or more."""
    for turn in turns:
        start, end = round(turn.start, 3), round(turn.end, 3)
        if end > start:
            line = {"start": start, "end": end, "speakers": turn.speakers, "final": turn.final}
            yield json.dumps(line)


def merged_line(names: Mapping[str, str]) -> str:
    """Which live names are one with another from now on."""
    return json.dumps({"merged": names})


def map_line(names: Mapping[str, str | None]) -> str:
    """Which final speaker each live one is."""
    return json.dumps({"map": names})
