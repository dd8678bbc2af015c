"""Replayed talk as the network hears it, rendered once and kept in shards on disk."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import UInt8

from diarize.activity.ears import LogMelStream
from diarize.activity.level import as_chunks
from diarize.mixing.replay import LOUD_PEAK, Replay
from diarize.storage.files import atomic_output
from diarize.threads import one_thread

LOWEST, NATS = -14.0, 0.1  # of the logarithms, as bytes
LEVEL_ERROR = (-2.0, 5.0)  # dB, mean and deviation: a chunk is no whole recording
AHEAD = 32  # shards that each process renders before they are asked for


@dataclass(frozen=True)
class Shard:
    """Chunks of equal length.

    Attributes:
        mel: log-mel bands as bytes, (chunks, frames, 64).
        speech: silero-vad's probabilities as bytes, (chunks, 32 ms).
        voices: how many speak, (chunks, frames).
    """

    mel: UInt8[np.ndarray, "chunks frames 64"]
    speech: UInt8[np.ndarray, "chunks n"]
    voices: UInt8[np.ndarray, "chunks frames"]

    def __getitem__(self, rows: slice) -> Shard:
        """Some of the chunks."""
        return Shard(self.mel[rows], self.speech[rows], self.voices[rows])

    def save(self, path: Path) -> None:
        """Write the shard, whole or not at all."""
        kinds = [(name, "u1", column.shape[1:]) for name, column in vars(self).items()]
        table = np.empty(len(self.mel), kinds)
        for name, column in vars(self).items():
            table[name] = column
        with atomic_output(path) as file:
            np.save(file, table)

    @classmethod
    def load(cls, path: Path) -> Shard:
        """Open what `save` wrote; chunks stay on disk until they are used."""
        table = np.load(path, mmap_mode="r")
        return cls(table["mel"], table["speech"], table["voices"])


def render_shard(replay: Replay, first: int, count: int, seconds: float) -> Shard:
    """Render chunks `first` to `first + count`, each so long."""
    from diarize.activity.silero import SileroNetwork

    mels, probabilities, voices = [], [], []
    for number in range(first, first + count):
        samples, active = replay.draw(number, seconds)
        rng = np.random.default_rng([replay.seed, 1, number])
        loud = float(np.percentile(np.abs(samples), 99.9))
        error = 10 ** (float(rng.normal(*LEVEL_ERROR)) / 20)
        samples = samples * np.float32(LOUD_PEAK * error / max(loud, 1e-7))
        samples = np.clip(samples, -1, 1)
        stream = LogMelStream()
        mel = np.concatenate([stream.push(samples), stream.finish()])
        mels.append(np.clip(np.round((mel - LOWEST) / NATS), 0, 255).astype(np.uint8))
        with one_thread():  # the same bytes on any machine
            heard = SileroNetwork()(as_chunks(samples))
        probabilities.append(np.round(heard * 255).astype(np.uint8))
        voices.append(active.sum(axis=0).astype(np.uint8))
    return Shard(np.stack(mels), np.stack(probabilities), np.stack(voices))


@dataclass(frozen=True)
class ShardFolder:
    """Renders shards into a folder; shard i depends on the replay's seed and i alone.

    Attributes:
        replay: what is rendered.
        folder: where shards are.
        chunks: how many a shard holds.
        seconds: of a chunk.
    """

    replay: Replay
    folder: Path
    chunks: int
    seconds: float

    def path(self, number: int) -> Path:
        """Where a shard is, or will be."""
        return self.folder / f"shard_{number:04d}.npy"

    def __getitem__(self, number: int) -> int:
        """Render a shard, and give its number back."""
        first = number * self.chunks
        render_shard(self.replay, first, self.chunks, self.seconds).save(self.path(number))
        return number


class Shards:
    """The first shards of a folder, rendered by processes ahead of their use.

    Args:
        folder: where they are; those that an earlier run has rendered are taken.
        count: how many there will be.
        workers: processes that render; 0 renders here, when a shard is asked for.
    """

    def __init__(self, folder: ShardFolder, count: int, workers: int) -> None:
        self.folder = folder
        self._open: dict[int, Shard] = {}
        self._missing = deque(n for n in range(count) if not folder.path(n).is_file())
        # The loader draws a seed for its processes: not from what the weights are drawn from.
        self._rendered = iter(
            torch.utils.data.DataLoader(
                folder,  # type: ignore[arg-type]
                batch_size=None,
                sampler=list(self._missing),
                num_workers=workers,
                prefetch_factor=AHEAD if workers else None,
                generator=torch.Generator(),
            )
        )

    def __getitem__(self, number: int) -> Shard:
        """Wait for a shard."""
        while self._missing and self._missing[0] <= number:
            next(self._rendered)
            self._missing.popleft()
        if number not in self._open:
            self._open[number] = Shard.load(self.folder.path(number))
        return self._open[number]
