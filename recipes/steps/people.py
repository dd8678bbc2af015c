"""Speakers of the speech folders who are one person under several names.

    PYTHONPATH=recipes python recipes/steps/people.py find SPEECH... --encoders MODEL MODEL
    PYTHONPATH=recipes python recipes/steps/people.py view DATA OUT

`find` prints the pairs of speakers of one corpus whose voices lie as near to each other, by all of
the encoders, as the two halves of what one speaker says; `people.tsv` beside this file says who is
one person by that. `view` makes a folder of links to what DATA has, in which the tables of speech
folders name persons: nobody is two speakers, and whom `train` has is in no other split.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from steps.markdown import print_table

from diarize.mixing.speech import TABLE, utterances_of

PEOPLE = Path(__file__).with_name("people.tsv")
AS_NEAR = 0.93  # cosine; of the halves of one speaker's speech the median is 0.91 to 0.96
FIRST = "train"  # the split in which a person stays


def find(folders: Sequence[Path], encoders: Sequence[str]) -> None:
    """Print who sounds like one person."""
    from diarize.embedding import load_encoder
    from diarize.mixing.voices import collect_voices
    from diarize.training.knowledge import heard_voices

    voices = collect_voices(utterances_of(folders), speeds=(1.0,))
    middle = (voices.starts + voices.ends) // 2
    halves = replace(voices, ends=middle), replace(voices, starts=middle)
    of_halves, of_pairs = [], []
    for model in map(load_encoder, encoders):
        whole, first, second = (heard_voices(model, v, most=sys.maxsize) for v in (voices, *halves))
        of_halves.append((first * second).sum(axis=1))
        of_pairs.append(whole @ whole.T)
    own, cosines = np.stack(of_halves), np.stack(of_pairs)
    same_corpus = voices.corpora[:, None] == voices.corpora
    near = np.triu(same_corpus & (cosines.min(axis=0) >= AS_NEAR), 1)
    rows = sorted(np.argwhere(near).tolist(), key=lambda pair: -cosines[:, pair[0], pair[1]].min())
    print_table(
        ("speaker", "another", *encoders),
        ((voices.speakers[i], voices.speakers[j], *_figures(cosines[:, i, j])) for i, j in rows),
    )
    print()
    print_table(
        ("halves of one speaker, median", *encoders),
        (
            (corpus, *_figures(np.median(own[:, voices.corpora == corpus], axis=1)))
            for corpus in np.unique(voices.corpora)
        ),
    )


def _figures(cosines: np.ndarray) -> list[str]:
    return [f"{cosine:.3f}" for cosine in cosines]


def people() -> dict[str, str]:
    """The person that each speaker of several names is."""
    with PEOPLE.open(encoding="utf-8", newline="") as lines:
        return {row["speaker"]: row["person"] for row in csv.DictReader(lines, delimiter="\t")}


def view(data: Path, out: Path) -> None:
    """Make the folder of links, or add what it lacks; several may at once."""
    out.mkdir(parents=True, exist_ok=True)
    for entry in sorted(data.iterdir()):
        link = out / entry.name
        if link.exists():
            continue
        if (entry / TABLE).is_file():
            part = Path(tempfile.mkdtemp(prefix=f".{entry.name}.", dir=out))
            _write_table(entry / TABLE, part / TABLE)
            try:
                part.rename(link)
            except OSError:
                if not link.exists():  # or another was faster
                    raise
                shutil.rmtree(part)
        else:
            with contextlib.suppress(FileExistsError):
                link.symlink_to(entry.resolve())


def _write_table(table: Path, out: Path) -> None:
    """A table with paths that hold anywhere, and persons for speakers."""
    known = people()
    with table.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    for row in rows:
        row["path"] = str((table.parent / row["path"]).resolve())
        row["speaker"] = known.get(row["speaker"], row["speaker"])
    first = {row["speaker"] for row in rows if row.get("split") == FIRST}
    kept = [row for row in rows if row.get("split") == FIRST or row["speaker"] not in first]
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(kept)


def main() -> None:
    """Do what is told."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    finding = commands.add_parser("find")
    finding.add_argument("speech", type=Path, nargs="+")
    finding.add_argument("--encoders", nargs="+", required=True)
    viewing = commands.add_parser("view")
    viewing.add_argument("data", type=Path)
    viewing.add_argument("out", type=Path)
    told = parser.parse_args()
    if told.command == "find":
        find(told.speech, told.encoders)
    else:
        view(told.data, told.out)


if __name__ == "__main__":
    main()
