"""The JSON of Whisper: what is read, and what comes back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from diarize.errors import InputError
from diarize.formats.turns import Turn
from diarize.transcripts.passages import Passage, Transcript, Word, label
from diarize.transcripts.whisper import parse_whisper, whisper_text

CONTENT: dict[str, Any] = {
    "text": " In 1999.",
    "segments": [
        {
            "id": 0,
            "start": 0.5,
            "end": 2.5,
            "text": " In 1999.",
            "tokens": [1, 2],
            "speaker": "SPEAKER_07",
            "words": [
                {"word": " In", "start": 0.5, "end": 1.0, "probability": 0.9},
                {"word": " 1999."},  # WhisperX aligns no numbers
            ],
        },
        {"id": 1, "start": 3, "end": 4, "text": " Yes."},
    ],
    "word_segments": [{"word": " In", "start": 0.5, "end": 1.0}, {"word": " 1999."}],
    "language": "en",
}


def labelled(turns: list[Turn]) -> Any:
    (transcript,) = parse_whisper("x.json", json.dumps(CONTENT), "x")
    return json.loads(whisper_text(label(transcript, turns)))


def test_all_is_kept_and_speakers_are_added() -> None:
    found = labelled([Turn(0.0, 2.0, "ann"), Turn(0.8, 1.5, "ben")])
    first, second = found["segments"]
    assert (first["speaker"], first["speakers"]) == ("ann", ["ann", "ben"])
    assert (second["speaker"], second["speakers"]) == ("ann", ["ann"])
    assert first["words"] == [
        {"word": " In", "start": 0.5, "end": 1.0, "probability": 0.9} | speakers("ann", "ben"),
        {"word": " 1999."} | speakers("ann"),
    ]
    assert found["word_segments"] == first["words"]
    for segment in found["segments"]:
        del segment["speaker"], segment["speakers"]
    assert first["tokens"] == [1, 2]
    assert (found["language"], found["text"]) == ("en", " In 1999.")


def speakers(*names: str) -> dict[str, object]:
    return {"speaker": names[0], "speakers": list(names)}


def test_without_turns_nobody_is_named() -> None:
    assert "speaker" not in labelled([])["segments"][0]


def test_what_was_no_json_before() -> None:
    passage = Passage(0.0, 1.0, "Hi", (Word(0.0, 1.0, "Hi", ("ann",)),), ("ann",))
    content = json.loads(whisper_text(Transcript("x", (passage,))))
    item = {"start": 0.0, "end": 1.0, "speaker": "ann", "speakers": ["ann"]}
    assert content == {"segments": [item | {"text": "Hi", "words": [item | {"word": "Hi"}]}]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "no list 'segments' in this file"),
        ('{"segments": [1]}', "entry 0 of 'segments': no 'text'"),
        ('{"segments": [{"text": "a", "start": 1}]}', "entry 0 of 'segments': no times"),
        ('{"segments": [{"text": "a", "start": -1}]}', "entry 0 of 'segments': 'start' is no"),
        ('{"segments": [{"text": "a", "start": 0, "end": 1, "words": 3}]}', "entry 0 .*no list"),
        ('{"segments": [{"text": "a", "start": 0, "end": 1, "words": [3]}]}', "entry 0 .*no 'word"),
    ],
)
def test_what_is_refused(content: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"^x.json: {reason}"):
        parse_whisper("x.json", content, "x")
