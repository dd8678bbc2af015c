"""Stream recordings as fast as may be; write what was said live, and what was settled.

    PYTHONPATH=recipes python stream.py CONVERSATIONS OUT --latency 2 [--refine 30]

OUT/live-2 has the live turns, two names that became one under one; OUT/live-2-said those under the
names with which they were said; OUT/live-2-alone those without
compositions (at most one speaker at an instant), OUT/settled-2 what the last pass made of the
former; with --refine 30, OUT/settled-2-30 what was settled every 30 seconds, and OUT/live-2-30 what
was said live beside that.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from pyannote.core import Annotation
from steps.trained import MODEL

from diarize import StreamingDiarizer
from diarize.audio import open_recording
from diarize.formats import rttm_text
from diarize.storage.files import atomic_output

BLOCK_SECONDS = 5.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("conversations", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--latency", type=float, required=True)
    parser.add_argument("--refine", type=float)
    given = parser.parse_args()
    name = f"{given.latency:g}"
    for path in sorted(given.conversations.glob("*.flac")):
        if given.refine is not None:
            refined = heard(path, latency=given.latency, refine=given.refine)
            write(given.out / f"live-{name}-{given.refine:g}", refined.live())
            write(given.out / f"settled-{name}-{given.refine:g}", refined.finish())
            continue
        together = heard(path, latency=given.latency)
        write(given.out / f"live-{name}", together.live())
        write(given.out / f"live-{name}-said", together.live_turns.annotation(together.uri, {}))
        write(given.out / f"settled-{name}", together.finish())
        alone = heard(path, latency=given.latency, max_set_size=1)
        write(given.out / f"live-{name}-alone", alone.live())


def heard(path: Path, **options: float) -> StreamingDiarizer:
    """A diarizer that has heard a whole recording."""
    recording = open_recording(path)
    diarizer = StreamingDiarizer(uri=recording.uri, model=MODEL, **options)
    for block in recording.blocks(BLOCK_SECONDS):
        diarizer.push(block)
    diarizer.end()
    return diarizer


def write(folder: Path, annotation: Annotation) -> None:
    """Write one result as RTTM."""
    folder.mkdir(parents=True, exist_ok=True)
    with atomic_output(folder / f"{annotation.uri}.rttm", "w") as file:
        file.write(rttm_text(annotation))


if __name__ == "__main__":
    main()
