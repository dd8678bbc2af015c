"""Where the error comes from: what is left when a stage is told the truth.

    PYTHONPATH=recipes python recipes/conversations/budget.py CONVERSATIONS [BACKEND...]

CONVERSATIONS is what `diarize simulate` wrote. Speech is the reference's or detected, the number of
speakers the true one or inferred; `oracle` is the clustering that knows the true sets. DER has no
collar, overlap is scored, and its parts are of all conversations together.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyannote.core import Annotation
from reliability import recordings
from steps.markdown import percent, print_table
from steps.trained import MODEL

from diarize import Diarizer
from diarize.scoring.der import speaker_time
from diarize.scoring.elements import decompose
from diarize.timeline import regions_of

COLUMNS = ("speech regions", "number of speakers", "backend",
           "DER", "missed", "false alarm", "confusion")  # fmt: skip


def rows(folder: Path, backends: list[str]) -> Iterator[list[str]]:
    """A row for each combination."""
    conversations = [
        (path, reference, regions_of(reference.get_timeline().support()))
        for path, reference in recordings([str(folder)])
    ]
    for regions in ("the reference's", "detected"):
        embedded = [
            (
                Diarizer(activity=speech if regions != "detected" else None, model=MODEL).embed(
                    path
                ),
                reference,
            )
            for path, reference, speech in conversations
        ]
        for number, backend in [
            *(("true", name) for name in backends),
            *(("inferred", name) for name in backends),
            ("", "oracle"),
        ]:
            parts = error_parts(embedded, backend, number == "true")
            yield [regions, number, f"`{backend}`", *map(percent, (parts.sum(), *parts))]


def error_parts(
    embedded: list[tuple[Any, Annotation]], backend: str, told_number: bool
) -> np.ndarray:
    """What is missed, what is heard where nobody speaks, and confused: shares of speech."""
    times = np.zeros(4)
    for one, reference in embedded:
        number = len(reference.labels()) if told_number else None
        diarizer = Diarizer(backend=backend, n_speakers=number, model=MODEL)
        _, found, _ = diarizer.cluster(one, reference if diarizer.needs_reference else None)
        times += speaker_time(decompose(reference, found.annotation(one.uri)))
    speech, *wrong = times
    return np.array(wrong) / speech


if __name__ == "__main__":
    print_table(COLUMNS, rows(Path(sys.argv[1]), sys.argv[2:] or ["ckm", "ac"]))
