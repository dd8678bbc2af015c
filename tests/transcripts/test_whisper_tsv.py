"""Whisper's TSV."""

from __future__ import annotations

import pytest

from diarize.errors import InputError
from diarize.formats.turns import Turn
from diarize.transcripts.passages import Passage, Transcript, Word, label
from diarize.transcripts.whisper_tsv import parse_whisper_tsv, whisper_tsv_text

TSV = "start\tend\ttext\n500\t2500\tIn 1999.\n3000\t4000\tYes.\n"


def test_what_whisper_writes_is_read_and_gets_speakers() -> None:
    (transcript,) = parse_whisper_tsv("x.tsv", TSV, "x")
    assert transcript.passages == (Passage(0.5, 2.5, "In 1999."), Passage(3.0, 4.0, "Yes."))
    text = whisper_tsv_text(label(transcript, [Turn(0.0, 2.6, "ann"), Turn(2.8, 5.0, "ben")]))
    assert text == ("start\tend\tspeaker\ttext\n500\t2500\tann\tIn 1999.\n3000\t4000\tben\tYes.\n")
    assert parse_whisper_tsv("y.tsv", text, "x") == [transcript]


def test_a_line_is_divided_where_the_speaker_of_words_changes() -> None:
    words = (Word(0, 1, " Hello.", ("ann",)), Word(1, 2, " Yes?", ("ben",)))
    text = whisper_tsv_text(Transcript("a", (Passage(0, 2, " Hello. Yes?", words, ("ann",)),)))
    assert text.splitlines()[1:] == ["0\t1000\tann\tHello.", "1000\t2000\tben\tYes?"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "x.tsv: the first line is not 'start end text'"),
        ("start\tend\tspeaker\n", "x.tsv: the first line is not 'start end text'"),
        ("start\tend\ttext\n5", "x.tsv, line 2: no start and end"),
        ("start\tend\ttext\n\n5\tx\ta", "x.tsv, line 3: the end 'x' is not a number"),
        ("start\tend\ttext\n5\t3\ta", "x.tsv, line 2: the end 0.003 is before the start 0.005"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        parse_whisper_tsv("x.tsv", text, "x")
    assert str(error.value).startswith(reason)
