"""`diarize report`: a result as a web page, made after the fact."""

from __future__ import annotations

from pathlib import Path

from diarize.cli.options import argument, option, require_one_source
from diarize.errors import InputError


def report(
    audio: str = argument(..., "AUDIO", "The recording; - is standard input."),
    turns: Path = argument(
        ...,
        "TURNS",
        "Its turns: RTTM, or another format that its ending tells; JSON has how sure each turn and "
        "the number of speakers is.",
    ),
    out: Path = option(..., "FILE.html", "The page."),
    reference: Path | None = option(None, "FILE.rttm", "True turns: errors are marked by kind."),
) -> None:
    """Make a web page that plays a recording and shows who spoke when.

    It is one file that opens without a network. Recordings of up to two hours are in it; a longer
    one is opened from disk in the page.
    """
    import numpy as np

    from diarize.audio import open_recording
    from diarize.batch.annotations import Turns, taken_for
    from diarize.cli.messages import note
    from diarize.formats import read_turns
    from diarize.formats.json import read_with_beside
    from diarize.formats.table import turns_format
    from diarize.formats.turns import Beside, annotated, turns_of
    from diarize.report.html import require_page, write_page
    from diarize.storage.files import refuse_input

    require_one_source("the recording or the turns, not both", audio, turns)
    refuse_input(out, [audio], "the page")
    require_page(out)
    recording = open_recording(audio)
    known: dict[str, tuple[dict[str, object], Beside]] = {}
    if (format_ := turns_format(turns)) == "json":
        found, known = read_with_beside(turns)
    else:
        found = read_turns(turns, format_)
    own = turns_of(found, recording.uri)
    if own is None:
        raise InputError(f"{turns}: no turns of {recording.uri}")
    if recording.uri not in found and audio != "-":
        note(taken_for(turns, next(iter(found)), recording.uri))
    annotation, confidence = annotated(own, recording.uri)
    truth = None if reference is None else Turns.read(reference, [audio], note).of(recording.uri)
    _, beside = turns_of(known, recording.uri) or ({}, Beside())
    write_page(
        out,
        recording,
        annotation,
        confidence=confidence,
        reference=truth,
        number=beside.number,
        several=np.array(beside.several) if beside.several else None,
    )
