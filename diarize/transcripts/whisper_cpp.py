"""The JSON of whisper.cpp: a list `transcription`, with tokens if all was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from diarize.formats.lines import MAX_SECONDS, blaming
from diarize.transcripts.passages import Passage, Transcript, Word, labelled

_MOST = 1000 * MAX_SECONDS  # milliseconds


def is_whisper_cpp(content: Mapping[str, Any]) -> bool:
    """Whether this is what a file of whisper.cpp holds."""
    return isinstance(content.get("transcription"), list) and "segments" not in content


def parse_whisper_cpp(name: str, content: Mapping[str, Any], uri: str) -> list[Transcript]:
    """The transcript of a file that `whisper-cli --output-json` wrote, or `--output-json-full`.

    Times are the `offsets`, in milliseconds. A token that begins with a blank begins a word; those
    in brackets, as ``[_BEG_]``, are none.

    Raises:
        InputError: an entry has no times or no text.
    """
    passages = []
    for number, fields in enumerate(content["transcription"]):
        with blaming(f"{name}: entry {number} of 'transcription'"):
            start, end = _times(fields)
            text = fields.get("text")
            if not isinstance(text, str):
                raise ValueError("no 'text'")
            tokens = fields.get("tokens")
            words = tuple(_words(tokens)) if isinstance(tokens, list) else ()
        passages.append(Passage(start, max(start, end), text, words, own=fields))
    return [Transcript(uri, tuple(passages), content)]


def whisper_cpp_content(transcript: Transcript) -> dict[str, Any]:
    """The content again, with `speaker` and `speakers` in every entry."""
    return {**transcript.own, "transcription": [labelled(one) for one in transcript.passages]}


def _words(tokens: Iterable[Any]) -> Iterable[Word]:
    spoken = []
    for token in tokens:
        if not isinstance(token, dict) or not isinstance(token.get("text"), str):
            raise ValueError("an entry of 'tokens' has no 'text'")
        if not token["text"].startswith("[_"):
            spoken.append(token)
    begins = [n for n, token in enumerate(spoken) if n == 0 or token["text"].startswith(" ")]
    for first, last in pairwise([*begins, len(spoken)]):
        times = [_times(token) for token in spoken[first:last]]
        text = "".join(token["text"] for token in spoken[first:last])
        yield Word(times[0][0], max(end for _, end in times), text)


def _times(fields: Any) -> tuple[float, float]:
    """Start and end of an entry or a token, seconds."""
    offsets = fields.get("offsets") if isinstance(fields, dict) else None
    if not isinstance(offsets, dict):
        raise ValueError("no times 'offsets'")
    found = []
    for edge in ("from", "to"):
        value: Any = offsets.get(edge)
        # bool is an int to Python, and true is no time
        if value is None or type(value) not in (int, float) or not 0 <= value <= _MOST:
            raise ValueError(f"'{edge}' of 'offsets' is no number of milliseconds")
        found.append(value / 1000)
    return found[0], max(found)
