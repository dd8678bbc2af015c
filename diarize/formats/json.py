"""JSON: turns, speakers with their talk time, and how the result was made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyannote.core import Annotation, Segment, Timeline

from diarize.errors import InputError
from diarize.formats.lines import (
    MAX_SECONDS,
    Source,
    blaming,
    in_order,
    parse_jsons,
    probability,
    read_text,
    shorten,
    stem_of,
    token,
    unicode,
)
from diarize.formats.turns import Beside, Confidence, Turn, written_turns
from diarize.storage.version import __version__

_DECIMALS = 3  # of a confidence


def json_text(
    annotation: Annotation,
    options: Mapping[str, object],
    confidence: Confidence | None = None,
    *,
    notes: Sequence[str] = (),
    number: Mapping[int, float] | None = None,
    several: Sequence[Sequence[float]] | None = None,
) -> str:
    """One object: uri, version, options, notes, how many speakers, who, turns; times in seconds.

    A turn whose segment and track `confidence` knows has a key for it: the probability, from 0 to
    1, that its speaker is heard at an instant drawn from the turn.

    A speaker's talk time counts an instant once, however many turns of that speaker hold it.
    `number`, where it is known, is how probable each number of speakers is, from 0 to 1.
    `several`, where it is known, are begin and end of where several were heard at once: overlap
    that the turns may have missed.

    Speakers are sorted by name, turns by start, end and speaker. Values of `options` that JSON does
    not know (paths, say) are written as their text.
    """
    turns = written_turns(annotation, confidence)
    speaking: dict[str, list[Segment]] = {}
    for turn in turns:
        speaking.setdefault(turn.speaker, []).append(Segment(turn.start, turn.end))
    content: dict[str, object] = {
        "uri": annotation.uri,
        "version": __version__,
        "options": dict(options),
        "notes": list(notes),
        **_probabilities(number),
        "speakers": [
            {"speaker": name, "seconds": round(Timeline(segments).support().duration(), 3)}
            for name, segments in sorted(speaking.items())
        ],
        "turns": [_fields(turn) for turn in turns],
    }
    if several is not None:
        content["several"] = [{"start": round(a, 3), "end": round(b, 3)} for a, b in several]
    return unicode(json.dumps(content, indent=2, ensure_ascii=False, default=str)) + "\n"


def _probabilities(number: Mapping[int, float] | None) -> dict[str, object]:
    """A key, if it is known; the probabilities sum to one as they are written."""
    if not number:
        return {}
    rounded = {n: round(p, _DECIMALS) for n, p in number.items()}
    most = max(rounded, key=rounded.__getitem__)
    rounded[most] = round(rounded[most] + 1 - sum(rounded.values()), _DECIMALS)
    return {"number": {str(n): p for n, p in sorted(rounded.items())}}


def read_json(source: Source) -> dict[str, list[Turn]]:
    """The turns of each recording of which a file of `json_text` speaks; all else is passed over.

    Objects may follow each other, as standard output has those of several recordings. A recording
    without name gets the file's stem.

    Raises:
        InputError: the file cannot be read, is no JSON, or holds no turns.
    """
    return _turns(*_read(source))


def read_with_beside(
    source: Source,
) -> tuple[dict[str, list[Turn]], dict[str, tuple[dict[str, object], Beside]]]:
    """The turns as `read_json`, and of each recording the options and what is beside its turns.

    Raises:
        InputError: as `read_json`, or something beside the turns has another form.
    """
    name, contents = _read(source)
    return _turns(name, contents), {uri: _known(name, content) for uri, content in contents}


def _turns(name: str, contents: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, list[Turn]]:
    found: dict[str, list[Turn]] = {}
    for uri, content in contents:
        listed = content.get("turns")
        if not isinstance(listed, list):
            raise InputError(f"{name}: no list 'turns' in this file")
        turns = found.setdefault(uri, [])
        for number, fields in enumerate(listed):
            with blaming(f"{name}: entry {number} of 'turns'"):
                turns.append(_turn(fields))
    return found


def _known(name: str, content: Mapping[str, Any]) -> tuple[dict[str, object], Beside]:
    number = several = None
    key = "options"
    try:
        options = dict(content.get(key) or {})
        key = "notes"
        notes = tuple(str(note) for note in _listed(content, key))
        key = "number"
        if content.get(key):
            number = {
                int(n): min(_number(chance, f"the probability of {n}"), 1.0)
                for n, chance in dict(content[key]).items()
            }
        key = "several"
        if key in content:
            several = [
                (_number(part["start"], "start"), _number(part["end"], "end"))
                for part in _listed(content, key)
            ]
    except (TypeError, KeyError, ValueError) as error:
        raise InputError(f"{name}: '{key}' is not as it is written: {error}") from None
    return options, Beside(notes=notes, number=number, several=several)


def _listed(content: Mapping[str, Any], key: str) -> list[Any]:
    found = content.get(key) or []
    if not isinstance(found, list):
        raise TypeError("no list")
    return found


def _read(source: Source) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """The name of a source, and the objects that follow each other in it, with their recordings."""
    name, text = read_text(source)
    contents = [one if isinstance(one, dict) else {} for one in parse_jsons(name, text)]
    return name, [(token(one.get("uri") or stem_of(name)), one) for one in contents]


def _turn(fields: Any) -> Turn:
    if not isinstance(fields, dict) or not isinstance(fields.get("speaker"), str):
        raise ValueError("no text 'speaker'")
    start, end = in_order(*(_number(fields.get(key), key) for key in ("start", "end")))
    sure = fields.get("confidence")
    confidence = None if sure is None else probability(_number(sure, "confidence"))
    return Turn(start, end, fields["speaker"], confidence)


def _number(value: Any, what: str) -> float:
    # bool is an int to Python, and true is no time
    if type(value) not in (int, float) or not 0 <= value <= MAX_SECONDS:
        raise ValueError(f"{what} {shorten(str(value))} is no number from 0 on")
    return float(value)


def _fields(turn: Turn) -> dict[str, object]:
    fields = turn._asdict()
    if turn.confidence is None:
        del fields["confidence"]
    else:
        fields["confidence"] = round(turn.confidence, _DECIMALS)
    return fields
