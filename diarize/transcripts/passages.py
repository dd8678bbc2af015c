"""A transcript: passages of text with times, words with times where it has them, and speakers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

import numpy as np
from pyannote.core import Annotation

from diarize.formats.turns import Turn, written_turns
from diarize.transcripts.holders import holders


@dataclass(frozen=True)
class Word:
    """A word, as the file writes it, from `start` to `end`, seconds.

    Attributes:
        start: when it begins.
        end: when it ends.
        text: the word, with the blank before it if the file has one there.
        speakers: who says it, first who holds most of it.
        own: what else the file says of it.
    """

    start: float
    end: float
    text: str
    speakers: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Passage:
    """A line, cue or segment of a transcript, with its words if they have times of their own.

    Attributes are those of a `Word`.
    """

    start: float
    end: float
    text: str
    words: tuple[Word, ...] = ()
    speakers: tuple[str, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)

    def by_speaker(self) -> Iterator[Passage]:
        """The passage, divided where the one who says the words changes."""
        if len({word.speakers[:1] for word in self.words}) < 2:
            yield replace(self, speakers=self.words[0].speakers) if self.words else self
            return
        for first, group in groupby(self.words, lambda word: word.speakers[:1]):
            words = tuple(group)
            text = joined([word.text for word in words])
            yield Passage(words[0].start, max(w.end for w in words), text, words, first)


@dataclass(frozen=True)
class Transcript:
    """What is said in a recording.

    Attributes:
        uri: the recording.
        passages: in the order of the file.
        own: what else the file says.
    """

    uri: str
    passages: tuple[Passage, ...]
    own: Mapping[str, Any] = field(default_factory=dict)

    def by_speaker(self) -> Iterator[Passage]:
        """The passages, divided where the one who says the words changes."""
        for passage in self.passages:
            yield from passage.by_speaker()


def label(transcript: Transcript, turns: Annotation | Sequence[Turn]) -> Transcript:
    """Put speakers onto a transcript: those of an annotation, or of turns as files have them.

    A word is said by whoever holds most of it, and so is a passage; where nobody speaks, by the
    nearest turn. Others who are heard meanwhile come behind. Without turns nobody is named.
    """
    if isinstance(turns, Annotation):
        turns = written_turns(turns)
    passages = transcript.passages
    words = [word for passage in passages for word in passage.words]
    times = [(p.start, p.end) for p in passages] + [(w.start, w.end) for w in words]
    found = holders(np.array(times, np.float64).reshape(-1, 2), turns)
    of_words = iter(found[len(passages) :])
    labelled = []
    for passage, speakers in zip(passages, found, strict=False):
        own = tuple(replace(word, speakers=next(of_words)) for word in passage.words)
        labelled.append(replace(passage, words=own, speakers=speakers))
    return replace(transcript, passages=tuple(labelled))


def joined(words: Sequence[str]) -> str:
    """The text of words: Whisper's bring their blank, or none in languages that have none."""
    if any(word.startswith(" ") for word in words):
        return re.sub(" {2,}", " ", "".join(words)).strip()
    return " ".join(stripped for word in words if (stripped := word.strip()))


def labelled(item: Passage | Word) -> dict[str, Any]:
    """What the file says of an item; `speaker` and `speakers` tell who is heard, if anybody is."""
    fields = {key: value for key, value in item.own.items() if key not in {"speaker", "speakers"}}
    if item.speakers:
        fields |= {"speaker": item.speakers[0], "speakers": list(item.speakers)}
    return fields
