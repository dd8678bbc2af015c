"""JSON: turns, speakers with their talk time, and how the result was made."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pyannote.core import Annotation, Segment, Timeline

from diarize.formats.turns import Turn, written_turns
from diarize.version import __version__

_DECIMALS = 3  # of a confidence


def json_text(
    annotation: Annotation,
    options: Mapping[str, object],
    confidence: Mapping[tuple[Segment, Any], float] | None = None,
) -> str:
    """One object: uri, version, options, speakers with talk time, turns; times in seconds.

    A turn whose segment and track `confidence` knows has a key for it: the probability, from 0 to
    1, that its speaker is heard at an instant drawn from the turn.

    A speaker's talk time counts an instant once, however many turns of that speaker hold it.
    Speakers are sorted by name, turns by start, end and speaker. Values of `options` that JSON does
    not know (paths, say) are written as their text.
    """
    turns = written_turns(annotation, confidence)
    speaking: dict[str, list[Segment]] = {}
    for turn in turns:
        speaking.setdefault(turn.speaker, []).append(Segment(turn.start, turn.end))
    content = {
        "uri": annotation.uri,
        "version": __version__,
        "options": dict(options),
        "speakers": [
            {"speaker": name, "seconds": round(Timeline(segments).support().duration(), 3)}
            for name, segments in sorted(speaking.items())
        ],
        "turns": [_fields(turn) for turn in turns],
    }
    return json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n"


def _fields(turn: Turn) -> dict[str, object]:
    fields = turn._asdict()
    if turn.confidence is None:
        del fields["confidence"]
    else:
        fields["confidence"] = round(turn.confidence, _DECIMALS)
    return fields
