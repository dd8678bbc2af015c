"""Transcripts that people read."""

from __future__ import annotations

from diarize.transcripts.passages import Passage, Transcript, Word
from diarize.transcripts.reading import markdown_text, plain_text


def said(start: float, text: str, *speakers: str, words: tuple[Word, ...] = ()) -> Passage:
    return Passage(start, start + 2, text, words, speakers)


TALK = Transcript(
    "the_talk",
    (
        said(0.5, " Good <i>evening</i>,\nall.", "Anna", "Ben"),
        said(3.0, " How are you?", "Anna"),
        said(3725.0, "*Fine*.", "Ben [b]"),
        said(3728.0, "   "),
        said(3730.0, "Who is this?"),
    ),
)


def test_a_paragraph_for_each_speaker() -> None:
    assert plain_text(TALK) == (
        "[0:00:00] Anna: Good evening, all. How are you?\n\n"
        "[1:02:05] Ben [b]: *Fine*.\n\n"
        "[1:02:10] Who is this?\n"
    )


def test_markdown() -> None:
    assert markdown_text(TALK) == (
        "# the\\_talk\n\n"
        "**Anna** (0:00:00): Good evening, all. How are you?\n\n"
        "**Ben \\[b\\]** (1:02:05): \\*Fine\\*.\n\n"
        "(1:02:10): Who is this?\n"
    )


def test_a_paragraph_ends_where_the_speaker_of_words_changes() -> None:
    words = (Word(0, 1, " Hello.", ("Anna",)), Word(1, 2, " Yes?", ("Ben",)))
    text = plain_text(Transcript("a", (said(0.0, " Hello. Yes?", "Anna", words=words),)))
    assert text == "[0:00:00] Anna: Hello.\n\n[0:00:01] Ben: Yes?\n"


def test_who_speaks_for_long_gets_the_time_again() -> None:
    passages = tuple(said(20.0 * n, f"{n}.", "Anna") for n in range(5))
    assert plain_text(Transcript("a", passages)) == (
        "[0:00:00] Anna: 0. 1. 2.\n\n[0:01:00] Anna: 3. 4.\n"
    )


def test_nothing_said() -> None:
    assert plain_text(Transcript("a", ())) == ""
    assert markdown_text(Transcript("a", ())) == "# a\n"
