"""Packs: all that training episodes are made of, small enough to carry to another machine."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import soundfile
import torch
from torch import Tensor

from diarize.audio import SAMPLE_RATE
from diarize.mixing.channel import BLOCK
from diarize.mixing.voices import UNNAMED, Voices
from diarize.storage.files import atomic_output

RATES = {"speech": 20_000, "noise": 12_000}  # bits a second
KEPT = 80  # rooms
READERS = 16


def pack(
    voices: Voices,
    folder: Path,
    noises: Sequence[np.ndarray],
    rooms: np.ndarray,
    train: Sequence[str] | None = None,
) -> None:
    """Write each speaker at his own speed, noise at half of full scale, and rooms.

    Speech is written last: with it, there is a pack.
    """
    first = np.unique(voices.speakers, return_index=True)[1]  # played as recorded
    own = voices[np.sort(first)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "speech.opus").unlink(missing_ok=True)
    stretches = [np.asarray(own.stretch(v)) for v in range(len(own))]
    _write(folder, "noise", [0.05 * noise for noise in noises])
    lengths = np.cumsum([0, *map(len, stretches)])
    corpora = np.unique(own.corpora, return_inverse=True)[1]
    unnamed = own.corpora == UNNAMED
    table = {"starts": lengths[:-1], "ends": lengths[1:], "corpora": corpora, "unnamed": unnamed}
    table["train"] = unnamed | np.isin(own.speakers, own.speakers if train is None else train)
    if own.heard is not None:
        table["heard"] = own.heard.astype(np.float16)
    np.savez(folder / "table.npz", allow_pickle=False, **table)
    kept = np.random.default_rng(0).permutation(len(rooms))[:KEPT]
    np.save(folder / "rooms.npy", rooms[kept].astype(np.float16))
    _write(folder, "speech", stretches)


def is_pack(folder: Path) -> bool:
    """Whether `pack` wrote it, to the end."""
    return (folder / "speech.opus").exists()


def read_sound(path: Path, device: str) -> Tensor:
    """Read what was packed, each reader a part of it; what was read is kept."""
    kept = path.with_suffix(".npy")
    if kept.exists():
        return torch.from_numpy(np.load(kept)).to(device)
    whole = soundfile.info(path).frames
    edges = np.linspace(0, whole, READERS + 1).astype(int).tolist()

    def part(edge: tuple[int, int]) -> np.ndarray:
        begin, end = edge
        return soundfile.read(path, frames=end - begin, start=begin, dtype="int16")[0]

    with ThreadPoolExecutor(READERS) as readers:
        parts = list(readers.map(part, pairwise(edges)))
    samples = np.concatenate(parts)
    with atomic_output(kept) as file:
        np.save(file, samples)
    return torch.from_numpy(samples).to(device)


def _write(folder: Path, name: str, pieces: Sequence[np.ndarray]) -> None:
    level = 1 - RATES[name] / 256_000
    (folder / f"{name}.npy").unlink(missing_ok=True)  # what was read of an earlier pack
    samples = np.concatenate(pieces)
    with (
        atomic_output(folder / f"{name}.opus") as out,
        soundfile.SoundFile(
            out, "w", SAMPLE_RATE, 1, "OPUS", format="OGG", compression_level=level
        ) as file,
    ):
        for begin in range(0, len(samples), BLOCK):
            file.write(samples[begin : begin + BLOCK])
