"""Where the error comes from: what is left when a stage is told the truth.

    PYTHONPATH=recipes python recipes/conversations/budget.py CONVERSATIONS [BACKEND...] [--real]

CONVERSATIONS is what `diarize simulate` wrote; or, with --real, recordings of people whom no f has
heard, by the one that ships. Speech is the reference's or detected, the number of
speakers the true one or inferred; `oracle` is the clustering that knows the true sets. DER has no
collar, overlap is scored, and its parts are of all conversations together.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyannote.core import Annotation
from reliability import recordings
from steps.markdown import percent, print_table
from steps.trained import MODEL

from diarize import Diarizer
from diarize.activity.regions import regions_of
from diarize.scoring.der import speaker_time
from diarize.scoring.elements import decompose

COLUMNS = ("speech regions", "number of speakers", "backend",
           "DER", "missed", "false alarm", "confusion")  # fmt: skip


def rows(folder: Path, backends: list[str], model: str = MODEL) -> Iterator[list[str]]:
    """A row for each combination."""
    conversations = [
        (path, reference, regions_of(reference.get_timeline().support()))
        for path, reference in recordings([str(folder)])
    ]
    for regions in ("the reference's", "detected"):
        detected = regions == "detected"
        embedded = [
            (Diarizer(activity=None if detected else speech, model=model).embed(path), reference)
            for path, reference, speech in conversations
        ]
        for number, backend in [
            *(("true", name) for name in backends),
            *(("inferred", name) for name in backends),
            ("", "oracle"),
        ]:
            parts = error_parts(embedded, backend, number == "true", model)
            yield [regions, number, f"`{backend}`", *map(percent, (parts.sum(), *parts))]


def error_parts(
    embedded: list[tuple[Any, Annotation]], backend: str, told_number: bool, model: str
) -> np.ndarray:
    """What is missed, what is heard where nobody speaks, and confused: shares of speech."""
    times = np.zeros(4)
    for one, reference in embedded:
        number = len(reference.labels()) if told_number else None
        diarizer = Diarizer(backend=backend, n_speakers=number, model=model)
        _, found, _ = diarizer.cluster(one, reference if diarizer.needs_reference else None)
        times += speaker_time(decompose(reference, found.annotation(one.uri)))
    speech, *wrong = times
    return np.array(wrong) / speech


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("conversations", type=Path)
    parser.add_argument("backends", nargs="*", default=["ckm", "ac"])
    parser.add_argument("--real", action="store_true")
    told = parser.parse_args()
    made = rows(told.conversations, told.backends, Diarizer.model if told.real else MODEL)
    print_table(COLUMNS, made)


if __name__ == "__main__":
    main()
