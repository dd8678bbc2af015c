"""The JSON of Whisper and of those that follow it: segments, with words if they were asked for."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from diarize.errors import InputError
from diarize.formats.lines import MAX_SECONDS, blaming, parse_json, unicode
from diarize.transcripts.passages import Passage, Transcript, Word, labelled
from diarize.transcripts.whisper_cpp import (
    is_whisper_cpp,
    parse_whisper_cpp,
    whisper_cpp_content,
)


def parse_whisper(name: str, text: str, uri: str) -> list[Transcript]:
    """The transcript of a file of openai-whisper, faster-whisper, WhisperX or whisper.cpp.

    A word without times, as WhisperX has them for numbers, is one of no length behind the word
    before it.

    Raises:
        InputError: no JSON, or no segments with times and text.
    """
    content = parse_json(name, text)
    if isinstance(content, dict) and is_whisper_cpp(content):
        return parse_whisper_cpp(name, content, uri)
    found = content.get("segments") if isinstance(content, dict) else None
    if not isinstance(found, list):
        raise InputError(f"{name}: no list 'segments' in this file, as Whisper writes it")
    passages = []
    for number, fields in enumerate(found):
        with blaming(f"{name}: entry {number} of 'segments'"):
            passages.append(_passage(fields))
    return [Transcript(uri, tuple(passages), content)]


def _passage(fields: Any) -> Passage:
    if not isinstance(fields, dict) or not isinstance(fields.get("text"), str):
        raise ValueError("no 'text'")
    start, end = _time(fields, "start"), _time(fields, "end")
    if start is None or end is None:
        raise ValueError("no times 'start' and 'end'")
    listed = fields.get("words")
    if listed is not None and not isinstance(listed, list):
        raise ValueError("'words' is no list")
    words: list[Word] = []
    for entry in listed or ():
        if not isinstance(entry, dict) or not isinstance(entry.get("word"), str):
            raise ValueError("an entry of 'words' has no 'word'")
        before = words[-1].end if words else start
        begin = _time(entry, "start")
        begin = before if begin is None else begin
        stop = _time(entry, "end")
        words.append(
            Word(begin, max(begin, begin if stop is None else stop), entry["word"], own=entry)
        )
    return Passage(start, max(start, end), fields["text"], tuple(words), own=fields)


def _time(fields: dict[str, Any], key: str) -> float | None:
    value = fields.get(key)
    # bool is an int to Python, and true is no time
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= MAX_SECONDS:
        raise ValueError(f"'{key}' is no number of seconds")
    return float(value)


def _entry(item: Passage | Word, text: str) -> dict[str, Any]:
    """What this file says of an item; of one from a file of another format, times and text."""
    if text not in item.own:
        item = replace(item, own={"start": item.start, "end": item.end, text: item.text})
    return labelled(item)


def whisper_text(transcript: Transcript) -> str:
    """The file again, with `speaker` and `speakers` in every segment and word.

    `speaker` is who holds most of it, `speakers` are all who are heard in it; both are missing
    where nobody is. What was said of speakers before is replaced.
    """
    if is_whisper_cpp(transcript.own):
        content = whisper_cpp_content(transcript)
        return unicode(json.dumps(content, indent=2, ensure_ascii=False)) + "\n"
    segments = []
    for passage in transcript.passages:
        segment = _entry(passage, "text")
        if passage.words:
            segment["words"] = [_entry(word, "word") for word in passage.words]
        segments.append(segment)
    content = {**transcript.own, "segments": segments}
    listed = content.get("word_segments")  # WhisperX has all words a second time
    words = [_entry(word, "word") for passage in transcript.passages for word in passage.words]
    if isinstance(listed, list) and len(listed) == len(words):
        content["word_segments"] = words
    return unicode(json.dumps(content, indent=2, ensure_ascii=False)) + "\n"
