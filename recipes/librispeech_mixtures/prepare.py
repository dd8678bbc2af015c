"""LibriSpeech as it is published -> a folder with a speakers.tsv, as the other recipes take it."""

from __future__ import annotations

import sys
from pathlib import Path

from diarize.errors import InputError
from diarize.storage.files import atomic_output

TRAINING = "train-"  # all subsets of that name are the split `train`; others are their own


def main(librispeech: Path, out: Path) -> None:
    """List every utterance below SUBSET/SPEAKER/CHAPTER/; the table points to where it lies."""
    sexes = _sexes(librispeech / "SPEAKERS.TXT")
    lines = ["path\tspeaker\tcorpus\tsex\tsplit"]
    for path in sorted(librispeech.resolve().glob("*/*/*/*.flac")):
        subset, speaker = path.parts[-4], path.parts[-3]
        split = "train" if subset.startswith(TRAINING) else subset
        lines.append(f"{path}\t{speaker}\tlibrispeech-{subset}\t{sexes.get(speaker, '?')}\t{split}")
    if len(lines) == 1:
        raise InputError(f"{librispeech}: no SUBSET/SPEAKER/CHAPTER/*.flac below it")
    out.mkdir(parents=True, exist_ok=True)
    with atomic_output(out / "speakers.tsv", "w") as table:
        table.write("\n".join(lines) + "\n")


def _sexes(table: Path) -> dict[str, str]:
    """Lines are `ID | SEX | SUBSET | MINUTES | NAME`, comments begin with a semicolon."""
    if not table.is_file():
        raise InputError(f"{table}: no such file; is this LibriSpeech as it is published?")
    rows = [line.split("|") for line in table.read_text(encoding="utf-8").splitlines()]
    return {r[0].strip(): r[1].strip().lower() for r in rows if len(r) > 1 and r[0][:1] != ";"}


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
