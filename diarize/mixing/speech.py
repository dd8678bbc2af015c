"""Single-speaker speech on disk: which file is whose voice."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE, open_recording
from diarize.audio.suffixes import recordings_in
from diarize.errors import InputError

TABLE = "speakers.tsv"


@dataclass(frozen=True)
class Utterance:
    """One file in which one speaker speaks."""

    path: Path
    speaker: str
    corpus: str = ""


def find_utterances(
    folder: str | Path, split: str | Sequence[str] | None = None
) -> list[Utterance]:
    """List the utterances of a speech folder.

    A folder with a `speakers.tsv` (columns `path`, `speaker`, and optionally `corpus`,
    `split`) is read by that table; any other one by its folders, one for each speaker, at whatever
    depth: a file's speaker is the folder that holds it.

    Raises:
        InputError: no such folder, a table without the needed columns, or no utterance left.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{root}: no such folder of speech")
    table = root / TABLE
    if table.is_file():
        utterances = _from_table(table, [split] if isinstance(split, str) else split)
    elif split is not None:
        raise InputError(f"{root}: a split was named, but there is no {TABLE} to say what is in it")
    else:
        utterances = _from_folders(root)
    if not utterances and split is None and audio_files(root):
        raise InputError(
            f"{root}: recordings must lie in a folder of each speaker's, or in {TABLE}"
        )
    if not utterances:
        raise InputError(f"{root}: no utterances" + (f" in split {split}" if split else ""))
    return utterances


def utterances_of(
    folders: Sequence[str | Path], split: str | Sequence[str] | None = None
) -> list[Utterance]:
    """List the utterances of several speech folders, as `find_utterances` does for one.

    Raises:
        InputError: as `find_utterances`, or one name for speakers of two folders.
    """
    found = [find_utterances(folder, split) for folder in folders]
    seen: dict[str, str | Path] = {}
    for folder, utterances in zip(folders, found, strict=True):
        for name in {u.speaker for u in utterances}:
            if name in seen:
                raise InputError(f"{folder}: speaker {name} is also in {seen[name]}")
        seen |= dict.fromkeys((u.speaker for u in utterances), folder)
    return [u for utterances in found for u in utterances]


def _from_table(table: Path, splits: Sequence[str] | None) -> list[Utterance]:
    try:
        with table.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines, delimiter="\t")
            rows, columns = list(reader), reader.fieldnames or ()
    except UnicodeDecodeError as error:
        raise InputError(f"{table}: not UTF-8 text") from error
    missing = ({"path", "speaker"} | ({"split"} if splits else set())) - set(columns)
    if missing:
        raise InputError(f"{table}: no column {', '.join(sorted(missing))}")
    for number, row in enumerate(rows, start=2):
        if not row["path"] or not row["speaker"]:
            raise InputError(f"{table}: line {number} names no path or no speaker")
    return [
        Utterance(table.parent / row["path"], row["speaker"], row.get("corpus") or "")
        for row in rows
        if not splits or row["split"] in splits
    ]


def _from_folders(root: Path) -> list[Utterance]:
    return [
        Utterance(path, path.parent.relative_to(root).as_posix())
        for path in audio_files(root)
        if path.parent != root
    ]


def audio_files(folder: Path) -> list[Path]:
    """List the recordings of a folder and of those in it, sorted; InputError: no such folder."""
    return sorted(recordings_in(folder, below=True))


def by_speaker(utterances: Iterable[Utterance]) -> dict[str, list[Utterance]]:
    """Group utterances by speaker, in order of first appearance."""
    groups: dict[str, list[Utterance]] = {}
    for utterance in utterances:
        groups.setdefault(utterance.speaker, []).append(utterance)
    return groups


def require_range(speakers: tuple[int, int], there: int) -> None:
    """Raise InputError if conversations cannot have so few to so many of those who are there."""
    low, high = speakers
    if not 1 <= low <= high:
        raise InputError(f"speakers {low}-{high}: not a range of positive numbers")
    if there < high:
        raise InputError(f"only {there} speakers, but {high} may be asked for")


def read_samples(path: Path) -> Float32[np.ndarray, "samples"]:
    """Read a whole short file as 16 kHz mono."""
    return np.concatenate([np.zeros(0, np.float32), *open_recording(path).blocks()])


# A frame of 10 ms holds speech if it is this many decibels louder than the quietest frames of its
# file (their 3rd percentile): the background, where there are pauses. Chosen on dev-a, with
# SILENT, so that the answer agrees with a speech detector's on clean and on noisy recordings
# alike.
ABOVE_BACKGROUND = 12.0
# But never if it lies SILENT decibels under the loud frames (95th percentile), and always if it
# lies less than LOUD under them: digital silence is no background, and speech without pauses has
# none.
SILENT, LOUD = 35.0, 18.0
FRAME = SAMPLE_RATE // 100
FRAME_SECONDS = FRAME / SAMPLE_RATE


def active_frames(samples: Float32[np.ndarray, "samples"]) -> np.ndarray:
    """Tell for each 10 ms of clean speech whether there is sound, relative to its own loud frames.

    Returns:
        Booleans of shape `(samples // 160,)`; gaps and islands under 50 ms are closed.
    """
    from scipy.ndimage import binary_closing, binary_opening

    n = len(samples) // FRAME
    energy = np.square(samples[: n * FRAME].reshape(n, FRAME), dtype=np.float64).mean(axis=1)
    if n == 0 or not energy.any():
        return np.zeros(n, bool)
    decibels = 10 * np.log10(np.maximum(energy, 1e-12))
    quiet, loud = np.percentile(decibels, 3), np.percentile(decibels[energy > 0], 95)
    active = decibels > np.clip(quiet + ABOVE_BACKGROUND, loud - SILENT, loud - LOUD)
    padded = np.pad(active, 5)
    closed = binary_opening(binary_closing(padded, np.ones(5)), np.ones(3))
    return np.asarray(closed[5 : 5 + n])


def without_pauses(
    samples: Float32[np.ndarray, "samples"], longest: float = 0.2
) -> Float32[np.ndarray, "kept"]:
    """Cut every pause of clean speech down to at most `longest` seconds."""
    from scipy.ndimage import binary_dilation

    active = active_frames(samples)
    margin = max(1, round(longest * 100 / 2))
    keep = binary_dilation(active, np.ones(2 * margin + 1)) if active.any() else active
    return samples[: len(keep) * FRAME].reshape(-1, FRAME)[keep].reshape(-1)
