"""`diarize label`: who says what in a transcript."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from diarize.errors import InputError


def label(
    transcript: Annotated[
        str,
        typer.Argument(
            metavar="TRANSCRIPT",
            help="JSON of Whisper or WhisperX, SRT, WebVTT or CTM; - is standard input.",
        ),
    ],
    turns: Annotated[
        str,
        typer.Option(
            metavar="FILE", help="Who speaks when: RTTM, or another format that its ending says."
        ),
    ],
    out: Annotated[
        str, typer.Option(metavar="FILE|-", help="Where it goes; - is standard output.")
    ] = "-",
    source_format: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="json|srt|vtt|ctm",
            help="Format of TRANSCRIPT.",
            show_default="as its ending says",
        ),
    ] = None,
    format: Annotated[
        str | None,
        typer.Option(
            metavar="json|srt|vtt|ctm",
            help="Of the result; ctm needs words with times.",
            show_default="as the ending of --out says, else that of TRANSCRIPT",
        ),
    ] = None,
) -> None:
    """Say who speaks in a transcript.

    A word is said by whoever holds most of it, or by the nearest turn. Where words have no times,
    that holds for the whole subtitle; where they have, a subtitle is divided where the speaker
    changes. JSON has all who are heard beside the one who speaks.
    """
    from diarize.files import atomic_output, require_writable
    from diarize.formats import format_of, read_turns
    from diarize.transcripts import (
        TRANSCRIPTS,
        label_transcripts,
        read_transcripts,
        require_transcript,
        transcript_format,
        transcripts_text,
    )

    if transcript == turns == "-":
        raise InputError("standard input: holds the transcript or the turns, not both")
    if transcript == "-" and source_format is None:
        raise InputError("standard input: its format is not known; give --from")
    given = require_transcript(source_format or transcript_format(transcript))
    ending = out.lower().rpartition(".")[2]
    name = require_transcript(format or (ending if ending in TRANSCRIPTS else given))
    if out != "-":
        require_writable(out)
    said = read_transcripts(transcript, given)
    spoken = read_turns(turns, format_of(turns) or "rttm")
    text = transcripts_text(label_transcripts(said, spoken), name)
    if out == "-":
        sys.stdout.write(text)
        return
    with atomic_output(out, "w") as file:
        file.write(text)
