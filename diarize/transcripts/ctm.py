"""CTM, the NIST format of words with times: one line per word."""

from __future__ import annotations

import io
from collections.abc import Iterable

from diarize.errors import InputError
from diarize.formats.lines import blaming, records, seconds, token
from diarize.transcripts.passages import Passage, Transcript, Word, joined

_PAUSE = 0.5  # seconds of silence between two passages


def parse_ctm(name: str, text: str) -> list[Transcript]:
    """The words of every recording, in passages that a pause of half a second divides.

    Lines are ``file channel start duration word [confidence [type [speaker]]]``.

    Raises:
        InputError: a line is wrong; names file, line and reason.
    """
    words: dict[str, list[Word]] = {}
    for fields, number, _ in records(io.StringIO(text)):
        with blaming(f"{name}, line {number}"):
            uri, word = _word(fields)
        words.setdefault(uri, []).append(word)
    return [Transcript(uri, tuple(_passages(said))) for uri, said in words.items()]


def _word(fields: list[str]) -> tuple[str, Word]:
    if not 5 <= len(fields) <= 8:
        raise ValueError(f"{len(fields)} fields: a CTM line has 5 to 8")
    uri, channel, start, duration, text, *more = fields
    begin = seconds(start, "the start")
    end = begin + seconds(duration, "the duration")
    own = {"channel": channel, "start": start, "duration": duration, "more": more}
    return uri, Word(begin, end, text, own=own)


def _passages(words: list[Word]) -> list[Passage]:
    groups: list[list[Word]] = []
    for word in words:
        if not groups or not -_PAUSE < word.start - groups[-1][-1].end < _PAUSE:
            groups.append([])
        groups[-1].append(word)
    return [
        Passage(
            group[0].start,
            max(word.end for word in group),
            joined([word.text for word in group]),
            tuple(group),
        )
        for group in groups
    ]


def ctm_text(transcripts: Iterable[Transcript]) -> str:
    """A line for each word, who says it in the eighth field.

    Raises:
        InputError: a passage has no words with times.
    """
    lines = []
    for transcript in transcripts:
        for passage in transcript.passages:
            if not passage.words and passage.text.strip():
                raise InputError(f"{transcript.uri}: CTM needs the times of the words")
            lines += [_line(transcript.uri, word) for word in passage.words]
    return "".join(line + "\n" for line in lines)


def _line(uri: str, word: Word) -> str:
    times = (f"{word.start:.3f}", f"{word.end - word.start:.3f}")
    start, duration = (word.own.get("start"), word.own.get("duration"))
    if isinstance(start, str) and isinstance(duration, str):  # as the CTM had them
        times = (start, duration)
    given = list(word.own.get("more", ()))[:2]
    sure, kind = given + [_probability(word), "lex"][len(given) :]
    channel = str(word.own.get("channel", "1"))
    speaker = token(word.speakers[0] if word.speakers else "")
    text = token(word.text.strip())
    return " ".join((token(uri), channel, *times, text, sure, kind, speaker))


def _probability(word: Word) -> str:
    """How sure the recogniser is, as Whisper, WhisperX and whisper.cpp call it."""
    said = (word.own.get(key) for key in ("probability", "score", "p"))
    known = (p for p in said if isinstance(p, int | float) and 0 <= p <= 1)
    return next((f"{p:.3f}" for p in known), "<NA>")
