"""What commands print that pages show, from the recording that ships.

    python docs/outputs.py      writes the blocks anew that follow `<!-- output: NAME -->`

A test compares them with what is printed, `tests/test_docs.py`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
PAGES = (REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md")))
PLACE = re.compile(r"(<!-- output: (\S+) -->\n+```\n)(.*?)(```)", re.DOTALL)
CLIPS = {"anna": (1.0, 5.5), "ben": (6.3, 11.5)}  # seconds in which two of the voices speak alone
LIVE = 30.0  # seconds that a stream hears
# Under the first line of RTTM, whose columns are as wide as long as times have as many digits.
COLUMNS = """\
        |            | |     |               |
        recording    | begin length          who, by first appearance
                     channel (always 1); begin and length in seconds
"""


def outputs() -> dict[str, str]:
    """Every output by its name."""
    audio, truth = (str(REPOSITORY / "egs" / f"conversation.{end}") for end in ("ogg", "rttm"))
    with tempfile.TemporaryDirectory() as folder:
        found = os.path.join(folder, "conversation.rttm")
        _, summary = said("run", audio, "--out", found)
        lines = Path(found).read_text(encoding="utf-8").splitlines(keepends=True)
        score, _ = said("score", truth, found)
        clips = [f"{name}={part_of(audio, folder, name, *span)}" for name, span in CLIPS.items()]
        known = [word for clip in clips for word in ("--known", clip)]
        _, notes = said(
            "run", audio, "--end", "30", *known, "--out", os.path.join(folder, "b.rttm")
        )
        start = part_of(audio, folder, "conversation", 0.0, LIVE)
        live, _ = said("stream", start, "--speed", "max", "--latency", "1", "--format", "jsonl")
    return {
        "rttm": lines[0] + COLUMNS,
        "overlap": "".join(next(overlapping(lines))),
        "summary": summary,
        "score": "\n".join(line.rstrip() for line in score.strip("\n").splitlines()) + "\n",
        "known": "".join(
            line.replace(str(REPOSITORY) + os.sep, "")
            for line in notes.splitlines(keepends=True)
            if "similarity" in line
        ),
        "stream": shortened(live.splitlines(keepends=True)),
    }


def part_of(audio: str, folder: str, name: str, start: float, end: float) -> str:
    """A clip, cut out of a recording."""
    import numpy as np
    import soundfile

    from diarize.audio import SAMPLE_RATE, open_recording

    path = os.path.join(folder, f"{name}.wav")
    blocks = open_recording(audio, start=start, end=end).blocks()
    soundfile.write(path, np.concatenate(list(blocks)), SAMPLE_RATE)
    return path


def said(*arguments: str) -> tuple[str, str]:
    """What a command prints on standard output, and on standard error."""
    from diarize.cli import run_command

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = run_command(arguments)
    if status:
        raise RuntimeError(f"diarize {' '.join(arguments)}: {err.getvalue()}")
    return out.getvalue(), err.getvalue()


def overlapping(lines: list[str]) -> Iterator[tuple[str, str]]:
    """Neighbouring lines of RTTM of which the second begins a second before the first ends."""
    for line, after in pairwise(lines):
        (begin, length), later = map(float, line.split()[3:5]), float(after.split()[3])
        if begin + length - later > 1:
            yield line, after


def shortened(lines: list[str]) -> str:
    """Two live lines, one that settles them, and the last."""
    final = next(line for line in lines if '"final": true' in line)
    return "".join([*lines[:2], "...\n", final, "...\n", lines[-1]])


def filled(page: str, made: dict[str, str]) -> str:
    """A page with its outputs written anew."""
    return PLACE.sub(lambda place: place[1] + made[place[2]] + place[4], page)


def main() -> None:
    """Write all pages anew."""
    made = outputs()
    for path in PAGES:
        path.write_text(filled(path.read_text(encoding="utf-8"), made), encoding="utf-8")


if __name__ == "__main__":
    main()
