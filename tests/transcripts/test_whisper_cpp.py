"""The JSON of whisper.cpp."""

from __future__ import annotations

import json
from typing import Any

import pytest

from diarize.errors import InputError
from diarize.formats.turns import Turn
from diarize.transcripts.passages import Transcript, Word, label
from diarize.transcripts.subtitles import srt_transcript_text
from diarize.transcripts.whisper import parse_whisper, whisper_text
from diarize.transcripts.whisper_cpp import is_whisper_cpp


def token(text: str, begin: int, end: int) -> dict[str, Any]:
    return {"text": text, "offsets": {"from": begin, "to": end}, "id": 1, "p": 0.9}


# As whisper-cli -ojf writes it.
CONTENT: dict[str, Any] = {
    "systeminfo": "AVX = 1",
    "result": {"language": "en"},
    "transcription": [
        {
            "timestamps": {"from": "00:00:00,000", "to": "00:00:02,500"},
            "offsets": {"from": 0, "to": 2500},
            "text": " Hello there. Yes.",
            "tokens": [
                token("[_BEG_]", 0, 0),
                token(" Hel", 0, 300),
                token("lo", 300, 600),
                token(" there", 600, 1000),
                token(".", 1000, 1100),
                token(" Yes", 2000, 2400),
                token(".", 2400, 2500),
                token("[_TT_125]", 2500, 2500),
            ],
        },
        {"offsets": {"from": 3000, "to": 4000}, "text": " Good."},
    ],
}


def parse(content: object) -> Transcript:
    (transcript,) = parse_whisper("x.json", json.dumps(content), "x")
    return transcript


def test_tokens_become_words() -> None:
    first, second = parse(CONTENT).passages
    assert (first.start, first.end, first.text) == (0.0, 2.5, " Hello there. Yes.")
    assert first.words == (
        Word(0.0, 0.6, " Hello"),
        Word(0.6, 1.1, " there."),
        Word(2.0, 2.5, " Yes."),
    )
    assert (second.words, second.text) == ((), " Good.")


def test_speakers_are_added_and_all_else_is_kept() -> None:
    found = label(parse(CONTENT), [Turn(0.0, 1.5, "ann"), Turn(1.8, 5.0, "ben")])
    again = json.loads(whisper_text(found))
    assert "segments" not in again
    told = [(one.pop("speaker"), one.pop("speakers")) for one in again["transcription"]]
    assert told == [("ann", ["ann", "ben"]), ("ben", ["ben"])]
    assert again == CONTENT
    assert srt_transcript_text(found) == (
        "1\n00:00:00,000 --> 00:00:01,100\n[ann]: Hello there.\n\n"
        "2\n00:00:02,000 --> 00:00:02,500\n[ben]: Yes.\n\n"
        "3\n00:00:03,000 --> 00:00:04,000\n[ben]: Good.\n"
    )


def test_what_it_is() -> None:
    assert is_whisper_cpp(CONTENT)
    assert not is_whisper_cpp({"segments": [], "transcription": []})
    assert not is_whisper_cpp({"transcription": "text"})


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (3, "no times 'offsets'"),
        ({"text": "a"}, "no times 'offsets'"),
        ({"offsets": {"from": 0}, "text": "a"}, "'to' of 'offsets' is no number of milliseconds"),
        ({"offsets": {"from": True, "to": 1}, "text": "a"}, "'from' of 'offsets' is no number"),
        ({"offsets": {"from": 0, "to": 1}}, "no 'text'"),
        (
            {"offsets": {"from": 0, "to": 1}, "text": "a", "tokens": [1]},
            "of 'tokens' has no 'text'",
        ),
    ],
)
def test_what_is_refused(entry: object, reason: str) -> None:
    with pytest.raises(InputError, match=r"^x\.json: entry 0 of 'transcription': ") as error:
        parse({"transcription": [entry]})
    assert reason in str(error.value)
