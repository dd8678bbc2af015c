"""Whisper's TSV: a line for each segment, with its times in milliseconds."""

from __future__ import annotations

from diarize.errors import InputError
from diarize.formats.lines import blaming, in_order, name_line, seconds, split_lines
from diarize.formats.turns import milliseconds
from diarize.transcripts.passages import Passage, Transcript

_HEADER = ("start", "end", "text")


def parse_whisper_tsv(name: str, text: str, uri: str) -> list[Transcript]:
    """The segments of a file, whose columns are ``start``, ``end`` and ``text``.

    A column ``speaker``, as `whisper_tsv_text` writes it, is passed over.

    Raises:
        InputError: another header, or a line that is wrong; names file, line and reason.
    """
    lines = split_lines(text)
    columns = lines[0].split("\t")
    if [column for column in columns if column != "speaker"] != list(_HEADER):
        raise InputError(f"{name}: the first line is not 'start end text', as Whisper writes it")
    passages = []
    for number, line in enumerate(lines[1:], start=2):
        if line.strip():
            fields = line.split("\t", len(columns) - 1)
            with blaming(f"{name}, line {number}"):
                passages.append(_passage(dict(zip(columns, fields, strict=False))))
    return [Transcript(uri, tuple(passages))]


def _passage(fields: dict[str, str]) -> Passage:
    if "end" not in fields:
        raise ValueError("no start and end, divided by a tab")
    start, end = (seconds(fields[edge].strip(), f"the {edge}") / 1000 for edge in ("start", "end"))
    return Passage(*in_order(start, end), fields.get("text", ""))


def whisper_tsv_text(transcript: Transcript) -> str:
    """A line for each passage, divided where the speaker of its words changes, who is a column."""
    lines = ["start\tend\tspeaker\ttext"]
    for part in transcript.by_speaker():
        speaker = name_line(part.speakers[0]) if part.speakers else ""
        times = (str(milliseconds(time)) for time in (part.start, part.end))
        lines.append("\t".join((*times, speaker, " ".join(part.text.split()))))
    return "\n".join(lines) + "\n"
