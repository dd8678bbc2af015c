"""Passages: who says them, and where they are divided."""

from __future__ import annotations

from diarize.formats.turns import Turn, annotated
from diarize.transcripts.passages import Passage, Transcript, Word, joined, label
from diarize.transcripts.table import label_transcripts

TURNS = [Turn(0.0, 2.0, "ann"), Turn(2.0, 5.0, "ben")]


def said() -> Transcript:
    words = tuple(
        Word(start, start + 0.5, text)
        for start, text in [(0.5, " Yes."), (1.0, " It"), (2.1, " is."), (3.0, " So.")]
    )
    return Transcript("talk", (Passage(0.5, 3.5, " Yes. It is. So.", words), Passage(4, 5, "Well")))


def test_words_and_passages_get_speakers() -> None:
    first, second = label(said(), TURNS).passages
    assert [word.speakers for word in first.words] == [("ann",)] * 2 + [("ben",)] * 2
    assert first.speakers == ("ann", "ben")
    assert second.speakers == ("ben",)
    assert [passage.speakers for passage in label(said(), []).passages] == [(), ()]


def test_an_annotation_is_taken_as_turns_are() -> None:
    found, _ = annotated(TURNS, "talk")
    assert label(said(), found) == label(said(), TURNS)
    assert label_transcripts([said()], {"talk": found}) == [label(said(), TURNS)]


def test_a_passage_is_divided_where_the_speaker_changes() -> None:
    first, second = label(said(), TURNS).passages
    parts = list(first.by_speaker())
    assert [(p.start, p.end, p.text, p.speakers) for p in parts] == [
        (0.5, 1.5, "Yes. It", ("ann",)), (2.1, 3.5, "is. So.", ("ben",))
    ]  # fmt: skip
    assert list(second.by_speaker()) == [second]
    assert list(label(said(), TURNS).by_speaker()) == [*parts, second]
    (whole,) = label(said(), TURNS[:1]).passages[0].by_speaker()
    assert whole.text == " Yes. It is. So."


def test_words_joined() -> None:
    assert joined([" Yes", ".", " No"]) == "Yes. No"
    assert joined(["yes", "no "]) == "yes no"
