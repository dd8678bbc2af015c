"""The JSON of a result, and the table of formats."""

from __future__ import annotations

import json
from pathlib import Path

from pyannote.core import Annotation, Segment

from diarize import __version__
from diarize.formats import FORMATS, json_text, rttm_text


def conversation() -> Annotation:
    annotation = Annotation(uri="Gespräch")
    annotation[Segment(0.0, 2.0), 0] = "Zoë"
    annotation[Segment(1.0, 3.0), 1] = "Zoë"  # overlaps itself for a second
    annotation[Segment(2.5, 4.12345), 2] = "Ann"
    return annotation


def test_content() -> None:
    text = json_text(conversation(), {"backend": "ckm", "model": Path("a/b")})
    assert "Gespräch" in text
    assert json.loads(text) == {
        "uri": "Gespräch",
        "version": __version__,
        "options": {"backend": "ckm", "model": "a/b"},
        "speakers": [{"speaker": "Ann", "seconds": 1.623}, {"speaker": "Zoë", "seconds": 3.0}],
        "turns": [
            {"start": 0.0, "end": 2.0, "speaker": "Zoë"},
            {"start": 1.0, "end": 3.0, "speaker": "Zoë"},
            {"start": 2.5, "end": 4.123, "speaker": "Ann"},
        ],
    }


def test_confidence() -> None:
    annotation = conversation()
    sure = {(Segment(1.0, 3.0), 1): 0.87654, (Segment(2.5, 4.12345), 2): 1.0}
    turns = json.loads(json_text(annotation, {}, sure))["turns"]
    assert [turn.get("confidence") for turn in turns] == [None, 0.877, 1.0]
    assert list(turns[1]) == ["start", "end", "speaker", "confidence"]
    renamed = annotation.rename_labels(mapping={"Zoë": "Bea"})
    again = json.loads(json_text(renamed, {}, sure))["turns"]
    assert [turn.get("confidence") for turn in again] == [None, 0.877, 1.0]
    assert FORMATS["rttm"](annotation, {}, sure) == rttm_text(annotation)


def test_nothing_said() -> None:
    content = json.loads(json_text(Annotation(uri="quiet"), {}))
    assert content["speakers"] == content["turns"] == []


def test_every_format_of_the_table_writes_text() -> None:
    for write in FORMATS.values():
        assert write(conversation(), {}).endswith("\n")
    assert FORMATS["rttm"](conversation(), {}) == rttm_text(conversation())
