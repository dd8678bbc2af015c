"""What the activity network is taught with, as it hears it, rendered once and kept on disk."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float32, UInt8

from diarize.activity.counter import MOST
from diarize.activity.counts import INSTANT
from diarize.activity.level import as_chunks
from diarize.activity.silero import SileroNetwork
from diarize.activity.spectra import INSTANT_SAMPLES, SpectraStream
from diarize.mixing.recorded import Recorded
from diarize.mixing.replay import LOUD_PEAK, Replay
from diarize.mixing.voices import write_array
from diarize.storage.files import atomic_output
from diarize.threads import one_thread
from diarize.training.counting_teacher import CountingTeacher
from diarize.training.loading import loader

LOWEST, NATS = -14.0, 0.12  # of the logarithms, as bytes
LEVEL_ERROR = (-2.0, 5.0)  # dB, mean and deviation: a chunk is no whole recording
AHEAD = 32  # shards that each process renders before they are asked for
RECORDED = 0.3  # share of chunks that come from recordings, where there are any
UNKNOWN = 255  # in place of how many speak, where nobody has said it
MOVING = 0.5  # share of chunks whose level moves
MOVES = (-4.0, 8.0)  # dB, mean and deviation of the levels between which it does
STILL = 0.4  # share of chunks with a stretch in which nobody speaks
STILL_SECONDS = (2.0, 12.0)
STILL_LEVEL = (-45.0, 0.0)  # dB, of the background there over the whole


@dataclass(frozen=True)
class Shard:
    """Chunks of equal length.

    Attributes:
        spectra: as bytes, (chunks, instants, 256).
        speech: silero-vad's probabilities as bytes, (chunks, 32 ms).
        voices: how many speak, (chunks, instants); `UNKNOWN` where nobody has said it.
        told: the teacher's probabilities of none to three voices as bytes, (chunks, instants, 4);
            all zero without a teacher.
    """

    spectra: UInt8[np.ndarray, "chunks instants 256"]
    speech: UInt8[np.ndarray, "chunks n"]
    voices: UInt8[np.ndarray, "chunks instants"]
    told: UInt8[np.ndarray, "chunks instants 4"]

    def __getitem__(self, rows: slice) -> Shard:
        """Some of the chunks."""
        return Shard(*(column[rows] for column in vars(self).values()))

    def save(self, path: Path) -> None:
        """Write the shard, whole or not at all."""
        kinds = [(name, "u1", column.shape[1:]) for name, column in vars(self).items()]
        table = np.empty(len(self.spectra), kinds)
        for name, column in vars(self).items():
            table[name] = column
        with atomic_output(path) as file:
            write_array(file, table)

    @classmethod
    def load(cls, path: Path) -> Shard:
        """Open what `save` wrote; chunks stay on disk until they are used."""
        table = np.load(path, mmap_mode="r")
        return cls(*(table[name] for name in ("spectra", "speech", "voices", "told")))


@dataclass(frozen=True)
class Source:
    """What chunks are made of.

    Attributes:
        replay: talk whose truth is known.
        recorded: recordings of which the teacher alone says how many speak; None: there are none.
        teacher: says of every chunk how many speak; None: nobody does.
    """

    replay: Replay
    recorded: Recorded | None = None
    teacher: CountingTeacher | None = None

    def draw(
        self, number: int, seconds: float
    ) -> tuple[Float32[np.ndarray, "samples"], UInt8[np.ndarray, "instants"]]:
        """The sound of a chunk, and how many speak."""
        rng = np.random.default_rng([self.replay.seed, 7, number])
        if self.recorded is not None and rng.random() < RECORDED:
            samples = self.recorded.draw(number, seconds)
            voices = np.full(len(samples) // INSTANT_SAMPLES, UNKNOWN, np.uint8)
        else:
            samples, active = self.replay.draw(number, seconds)  # frames of 10 ms
            voices = active.sum(axis=0)[::2].astype(np.uint8)
        if rng.random() < MOVING:
            samples = _moving(samples, rng)
        if rng.random() < STILL:
            self._still(samples, voices, rng)
        return samples, voices

    def _still(
        self,
        samples: Float32[np.ndarray, "samples"],
        voices: UInt8[np.ndarray, "instants"],
        rng: np.random.Generator,
    ) -> None:
        """Put the noise of another place where somebody may have spoken, for some seconds."""
        length = round(rng.uniform(*STILL_SECONDS) / INSTANT)
        begin = int(rng.integers(-length // 2, max(1, len(voices) - length // 2)))
        begin, end = max(0, begin), min(len(voices), begin + length)
        level = np.sqrt(np.square(samples).mean()) * 10 ** (rng.uniform(*STILL_LEVEL) / 20)
        noise = self.replay.background((end - begin) * INSTANT_SAMPLES, rng)
        samples[begin * INSTANT_SAMPLES : end * INSTANT_SAMPLES] = np.float32(level) * noise
        voices[begin:end] = 0


def _moving(
    samples: Float32[np.ndarray, "samples"], rng: np.random.Generator
) -> Float32[np.ndarray, "samples"]:
    """Let the level rise and fall, as if people or the microphone moved."""
    at = np.sort(rng.uniform(0, len(samples), int(rng.integers(2, 5))))
    level = np.interp(np.arange(len(samples)), at, rng.normal(*MOVES, len(at)))
    moved: np.ndarray = samples * (10 ** (level / 20)).astype(np.float32)
    return moved


def render_shard(source: Source, first: int, count: int, seconds: float) -> Shard:
    """Render chunks `first` to `first + count`, each so long."""
    rows = []
    for number in range(first, first + count):
        samples, voices = source.draw(number, seconds)
        rng = np.random.default_rng([source.replay.seed, 1, number])
        loud = float(np.percentile(np.abs(samples), 99.9))
        error = 10 ** (float(rng.normal(*LEVEL_ERROR)) / 20)
        samples = samples * np.float32(LOUD_PEAK * error / max(loud, 1e-7))
        samples = np.clip(samples, -1, 1)
        stream = SpectraStream()
        spectra = np.concatenate([stream.push(samples), stream.finish()])
        told = np.zeros((len(voices), MOST + 1), np.float32)
        with one_thread():  # the same bytes on any machine
            heard = SileroNetwork()(as_chunks(samples))
            if source.teacher is not None:
                told = source.teacher.counts(samples)
        rows.append(
            (
                np.clip(np.round((spectra - LOWEST) / NATS), 0, 255),
                np.round(heard * 255),
                voices,
                np.round(told * 255),
            )
        )
    return Shard(*(np.stack(column).astype(np.uint8) for column in zip(*rows, strict=True)))


@dataclass(frozen=True)
class ShardFolder:
    """Renders shards into a folder; shard i depends on the source's seed and i alone.

    Attributes:
        source: what is rendered.
        folder: where shards are.
        chunks: how many a shard holds.
        seconds: of a chunk.
    """

    source: Source
    folder: Path
    chunks: int
    seconds: float

    def path(self, number: int) -> Path:
        """Where a shard is, or will be."""
        return self.folder / f"shard_{number:04d}.npy"

    def __getitem__(self, number: int) -> None:
        """Render a shard."""
        first = number * self.chunks
        render_shard(self.source, first, self.chunks, self.seconds).save(self.path(number))


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
        generator = torch.Generator()
        self._rendered = loader(folder, list(self._missing), workers, AHEAD, generator)

    def __getitem__(self, number: int) -> Shard:
        """Wait for a shard.

        Raises:
            OSError, InputError: it cannot be rendered or written.
        """
        while self._missing and self._missing[0] <= number:
            next(self._rendered)
            self._missing.popleft()
        if number not in self._open:
            self._open[number] = Shard.load(self.folder.path(number))
        return self._open[number]
