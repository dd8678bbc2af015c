"""The JSON of a result."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from pyannote.core import Annotation, Segment

from diarize import __version__
from diarize.errors import InputError
from diarize.formats import FORMATS, json_text, rttm_text
from diarize.formats.json import read_json, read_with_beside
from diarize.formats.turns import Beside, Turn


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
        "notes": [],
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
    assert FORMATS["rttm"].write(annotation, {}, sure) == rttm_text(annotation)


def test_notes() -> None:
    text = json_text(conversation(), {}, notes=("no speech found", "too short"))
    assert json.loads(text)["notes"] == ["no speech found", "too short"]
    assert FORMATS["json"].write(conversation(), {}, None, Beside(notes=("a",))) == json_text(
        conversation(), {}, notes=["a"]
    )


def test_where_several_were_heard() -> None:
    content = json.loads(json_text(conversation(), {}, several=[(0.5, 1.2501)]))
    assert content["several"] == [{"start": 0.5, "end": 1.25}]
    assert "several" not in json.loads(json_text(conversation(), {}))
    quiet = FORMATS["json"].write(conversation(), {}, None, Beside(several=[]))
    assert json.loads(quiet)["several"] == []


def test_how_probable_each_number_of_speakers_is() -> None:
    number = {2: 1 / 3, 3: 1 / 3, 4: 1 / 3}
    written = json.loads(json_text(conversation(), {}, number=number))["number"]
    assert written == {"2": 0.334, "3": 0.333, "4": 0.333}  # sums to one as it stands
    assert json.loads(FORMATS["json"].write(conversation(), {}, None, Beside(number={0: 1.0})))[
        "number"
    ] == {"0": 1.0}
    assert "number" not in json.loads(json_text(conversation(), {}))
    assert "number" not in json.loads(json_text(conversation(), {}, number={}))


def test_nothing_said() -> None:
    content = json.loads(json_text(Annotation(uri="quiet"), {}))
    assert content["speakers"] == content["turns"] == []


def test_turns_are_read_again_with_their_confidence() -> None:
    annotation = conversation()
    sure = {(Segment(1.0, 3.0), 1): 0.87654}
    assert read_json(io.StringIO(json_text(annotation, {}, sure))) == {
        "Gespräch": [Turn(0.0, 2.0, "Zoë"), Turn(1.0, 3.0, "Zoë", 0.877), Turn(2.5, 4.123, "Ann")]
    }
    point = '{"turns": [{"start": 1, "end": 1, "speaker": "a", "confidence": 0}]}'
    assert read_json(io.StringIO(point)) == {"input": [Turn(1.0, 1.0, "a", 0.0)]}
    assert read_json(io.StringIO('{"turns": []}')) == {"input": []}


def test_several_recordings_follow_each_other() -> None:
    first, second = conversation(), Annotation(uri="later")
    second[Segment(5.0, 6.0)] = "Ann"
    text = json_text(first, {"seed": 1}) + json_text(second, {"seed": 2}, number={1: 1.0})
    found = read_json(io.StringIO(text))
    assert [(uri, len(turns)) for uri, turns in found.items()] == [("Gespräch", 3), ("later", 1)]
    _, known = read_with_beside(io.StringIO(text))
    assert known["Gespräch"][0] == {"seed": 1}
    assert known["later"][1].number == {1: 1.0}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[1, 2", "not JSON"),
        ("[1, 2]", "no list 'turns' in this file"),
        ('{"turns": {}}', "no list 'turns' in this file"),
        ('{"turns": [3]}', "entry 0 of 'turns': no text 'speaker'"),
        ('{"turns": [{"speaker": 3}]}', "entry 0 of 'turns': no text 'speaker'"),
        ('{"turns": [{"speaker": "a", "end": 1}]}', "entry 0 of 'turns': start 'None' is no"),
        ('{"turns": [{"speaker": "a", "start": true}]}', "entry 0 of 'turns': start 'True' is no"),
        ('{"turns": [{"speaker": "a", "start": NaN}]}', "entry 0 of 'turns': start 'nan' is no"),
        (
            '{"turns": [{"speaker": "a", "start": 2, "end": 1}]}',
            "entry 0 of 'turns': the end 1 is before the start 2",
        ),
        (
            '{"turns": [{"speaker": "a", "start": 1, "end": 2, "confidence": 95}]}',
            "entry 0 of 'turns': the confidence 95 is above 1",
        ),
    ],
)
def test_what_is_no_result_is_refused(content: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"^input: {reason}"):
        read_json(io.StringIO(content))
