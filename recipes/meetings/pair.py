"""Recordings and references as published -> one folder: NAME.wav (links), all.rttm, all.uem.

    python recipes/meetings/pair.py DATA SPLIT OUT [--suffix Mix-Headset] [--below only_words]

References are the RTTM files in folders called SPLIT, at whatever depth; `EN2002a.rttm` is that of
`EN2002a.Mix-Headset.wav`, where Mix-Headset is the suffix.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from diarize.errors import InputError
from diarize.storage.files import atomic_output


def pair(data: Path, split: str, out: Path, suffix: str = "", below: str = "") -> list[str]:
    """Link and join; returns the names.

    Args:
        data: what was downloaded.
        split: name of the folder, at whatever depth, that holds the references.
        out: where links and joined references go.
        suffix: what stands between name and `.wav`, where a recording has several channels.
        below: folder below which the references are, where there are several kinds.

    Raises:
        InputError: no references, or one without a recording.
    """
    pattern = f"{below}/**/{split}/*.rttm" if below else f"{split}/*.rttm"
    references = {path.stem: path for path in sorted(data.rglob(pattern))}
    if not references:
        raise InputError(f"{data}: no RTTM files in a folder {split}")
    ending = f".{suffix}.wav" if suffix else ".wav"
    recordings = {path.name.removesuffix(ending): path for path in data.rglob(f"*{ending}")}
    missing = [name for name in references if name not in recordings]
    if missing:
        raise InputError(f"{data}: no recording {missing[0]}{ending} ({len(missing)} missing)")
    scored = {path.stem: path for path in data.rglob(f"{split}/*.uem")}
    out.mkdir(parents=True, exist_ok=True)
    for name in references:
        link = out / f"{name}.wav"
        link.unlink(missing_ok=True)
        link.symlink_to(recordings[name].resolve())
    _join([references[name] for name in references], out / "all.rttm")
    if scored:
        _join([scored[name] for name in references if name in scored], out / "all.uem")
    return list(references)


def _join(files: list[Path], out: Path) -> None:
    with atomic_output(out, "w") as joined:
        for path in files:
            joined.write(path.read_text(encoding="utf-8").rstrip() + "\n")


def main() -> None:
    """Pair, and say how many."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("split")
    parser.add_argument("out", type=Path)
    parser.add_argument("--suffix", default="")
    parser.add_argument("--below", default="")
    a = parser.parse_args()
    try:
        print(f"{len(pair(a.data, a.split, a.out, a.suffix, a.below))} recordings")
    except InputError as error:
        parser.exit(2, f"{error}\n")


if __name__ == "__main__":
    main()
