"""CTM: words, passages, and what is written."""

from __future__ import annotations

import json

import pytest

from diarize.errors import InputError
from diarize.formats.turns import Turn
from diarize.transcripts.ctm import ctm_text, parse_ctm
from diarize.transcripts.passages import Passage, Transcript, Word, label
from diarize.transcripts.whisper import parse_whisper, whisper_text

TEXT = """\
;; a comment
a A 0.50 0.25 so 0.91
a A 0.75 0.50 it 0.8 lex old
a A 3.00 0.50 is
b 1 0.00 1.00 well <NA> fp <NA>
"""


def test_passages_are_divided_by_pauses() -> None:
    a, b = parse_ctm("x.ctm", TEXT)
    assert (a.uri, b.uri) == ("a", "b")
    assert [(p.start, p.end, p.text) for p in a.passages] == [
        (0.5, 1.25, "so it"), (3.0, 3.5, "is")
    ]  # fmt: skip


def test_what_is_written() -> None:
    turns = [Turn(0.0, 1.0, "ann b"), Turn(1.0, 4.0, "ben")]
    assert ctm_text([label(transcript, turns) for transcript in parse_ctm("x.ctm", TEXT)]) == (
        "a A 0.50 0.25 so 0.91 lex ann_b\n"
        "a A 0.75 0.50 it 0.8 lex ann_b\n"
        "a A 3.00 0.50 is <NA> lex ben\n"
        "b 1 0.00 1.00 well <NA> fp ann_b\n"
    )
    word = Word(0.0, 1.0, " so", ("ann",))
    assert ctm_text([Transcript("a", (Passage(0, 1, " so", (word,)),))]) == (
        "a 1 0.000 1.000 so <NA> lex ann\n"
    )
    with pytest.raises(InputError, match=r"^a: CTM needs the times of the words$"):
        ctm_text([Transcript("a", (Passage(0, 1, " so"),))])


@pytest.mark.parametrize(
    ("line", "reason"),
    [("a 1 0.5 0.2", "4 fields: a CTM line has 5 to 8"), ("a 1 x 0.2 so", "the start 'x' is not")],
)
def test_a_wrong_line_is_refused_with_its_place(line: str, reason: str) -> None:
    with pytest.raises(InputError, match=f"^x.ctm, line 6: {reason}"):
        parse_ctm("x.ctm", TEXT + line)


def test_its_words_as_json() -> None:
    (transcript,) = parse_ctm("x.ctm", "a 1 0.50 0.30 so 0.9\n")
    (segment,) = json.loads(whisper_text(label(transcript, [Turn(0.0, 1.0, "ann")])))["segments"]
    who = {"speaker": "ann", "speakers": ["ann"]}
    assert segment["words"] == [{"start": 0.5, "end": 0.8, "word": "so"} | who]
    (again,) = parse_whisper("x.json", json.dumps({"segments": [segment]}), "a")
    assert again.passages[0].words[0].text == "so"


def test_a_recogniser_says_how_sure_it_is() -> None:
    words = (
        Word(0.0, 0.5, "so", own={"probability": 0.9}),
        Word(0.5, 1.0, "well", own={"score": 0.25}),
        Word(1.0, 1.5, "yes", own={"probability": None}),
    )
    lines = ctm_text([Transcript("a", (Passage(0, 2, " so well yes", words),))]).splitlines()
    assert [line.split()[5] for line in lines] == ["0.900", "0.250", "<NA>"]
