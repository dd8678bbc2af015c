"""LibriSpeech as it is published -> a folder with a speakers.tsv, as the other recipes take it."""

from __future__ import annotations

import sys
from pathlib import Path

from diarize.errors import InputError
from diarize.storage.files import atomic_output

TRAINING = "train-"  # all subsets of that name are the split `train`; others are their own


def main(librispeech: Path, out: Path) -> None:
    """List every utterance below SUBSET/SPEAKER/CHAPTER/; the table points to where it lies."""
    lines = ["path\tspeaker\tcorpus\tsplit"]
    for path in sorted(librispeech.resolve().glob("*/*/*/*.flac")):
        subset, speaker = path.parts[-4], path.parts[-3]
        split = "train" if subset.startswith(TRAINING) else subset
        lines.append(f"{path}\t{speaker}\tlibrispeech-{subset}\t{split}")
    if len(lines) == 1:
        raise InputError(f"{librispeech}: no SUBSET/SPEAKER/CHAPTER/*.flac below it")
    out.mkdir(parents=True, exist_ok=True)
    with atomic_output(out / "speakers.tsv", "w") as table:
        table.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
