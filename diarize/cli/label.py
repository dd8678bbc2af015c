"""`diarize label`: who says what in a transcript."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from diarize.cli.messages import note, put
from diarize.cli.options import argument, option, require_one_source
from diarize.errors import InputError

if TYPE_CHECKING:
    from diarize.formats.turns import Turn
    from diarize.transcripts import Transcript

FAR = 10.0  # seconds


def label(
    transcript: str = argument(
        ...,
        "TRANSCRIPT",
        "JSON of Whisper, WhisperX or whisper.cpp, SRT, WebVTT, CTM or Whisper's TSV; - is "
        "standard input.",
    ),
    turns: str = option(
        ..., "FILE", "Who speaks when: RTTM, or another format that its ending says."
    ),
    out: str = option("-", "FILE|-", "Where it goes; - is standard output."),
    source_format: str | None = option(
        None,
        "json|srt|vtt|ctm|tsv",
        "Format of TRANSCRIPT.",
        "--from",
        show_default="as its ending says",
    ),
    format: str | None = option(
        None,
        "json|srt|vtt|ctm|tsv|txt|md",
        "Of the result; txt and md are for reading, ctm needs words with times.",
        show_default="as the ending of --out says, else that of TRANSCRIPT",
    ),
) -> None:
    """Say who speaks in a transcript.

    A word is said by whoever holds most of it, or by the nearest turn. Where words have no times,
    that holds for the whole subtitle; where they have, a subtitle is divided where the speaker
    changes. JSON has all who are heard beside the one who speaks.
    """
    from diarize.formats import read_turns
    from diarize.formats.table import turns_format
    from diarize.storage.files import refuse_input, require_writable
    from diarize.transcripts import (
        label_transcripts,
        read_transcripts,
        require_text,
        require_transcript,
        text_format,
        transcript_format,
        transcripts_text,
    )

    require_one_source("the transcript or the turns, not both", transcript, turns)
    if transcript == "-" and source_format is None:
        raise InputError("standard input: its format is not known; give --from")
    given = require_transcript(source_format or transcript_format(transcript))
    name = require_text(format or text_format(out) or given)
    if out != "-":
        require_writable(out)
        refuse_input(Path(out), [transcript, turns], "the labelled one", "what is labelled")
    said = read_transcripts(transcript, given)
    spoken = read_turns(turns, turns_format(turns))
    try:
        found = label_transcripts(said, spoken)
    except InputError as problem:
        raise InputError(f"{turns}: {problem}") from None
    if far := _n_far(said, spoken):
        n_lines = "1 line lies" if far == 1 else f"{far} lines lie"
        note(f"{transcript}: {n_lines} more than {FAR:g} s before or after all turns of {turns}")
    put(transcripts_text(found, name), out)


def _n_far(said: Sequence[Transcript], spoken: Mapping[str, Sequence[Turn]]) -> int:
    """How many passages are heard long before or after anybody speaks, as of another recording."""
    turns = [turn for own in spoken.values() for turn in own]
    begin = min((turn.start for turn in turns), default=math.inf) - FAR
    end = max((turn.end for turn in turns), default=-math.inf) + FAR
    passages = (passage for one in said for passage in one.passages)
    return sum(passage.end < begin or passage.start > end for passage in passages)
