"""Replayed talk as the network hears it, rendered once and kept in shards on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import UInt8

from diarize.activity.level import as_chunks
from diarize.activity.network import LogMelStream
from diarize.files import atomic_output
from diarize.mixing.replay import LOUD_PEAK, Replay

SECONDS = 16.0  # of one chunk
PER_SHARD = 128  # chunks
LOWEST, NATS = -14.0, 0.1  # of the logarithms, as bytes
LEVEL_ERROR = (-2.0, 5.0)  # dB, mean and deviation: a chunk is no whole recording


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

    def save(self, path: Path) -> None:
        """Write the shard, whole or not at all."""
        with atomic_output(path) as file:
            np.savez(file, mel=self.mel, speech=self.speech, voices=self.voices)

    @classmethod
    def load(cls, path: Path) -> Shard:
        """Read what `save` wrote."""
        with np.load(path) as arrays:
            return cls(**{name: arrays[name] for name in arrays.files})


def render_shard(replay: Replay, first: int, count: int = PER_SHARD) -> Shard:
    """Render chunks `first` to `first + count`."""
    from diarize.activity.silero import SileroNetwork

    mels, probabilities, voices = [], [], []
    for number in range(first, first + count):
        samples, active = replay.draw(number, SECONDS)
        rng = np.random.default_rng([replay.seed, 1, number])
        loud = float(np.percentile(np.abs(samples), 99.9))
        error = 10 ** (float(rng.normal(*LEVEL_ERROR)) / 20)
        samples = samples * np.float32(LOUD_PEAK * error / max(loud, 1e-7))
        samples = np.clip(samples, -1, 1)
        stream = LogMelStream()
        mel = np.concatenate([stream.push(samples), stream.finish()])
        mels.append(np.clip(np.round((mel - LOWEST) / NATS), 0, 255).astype(np.uint8))
        probabilities.append(np.round(SileroNetwork()(as_chunks(samples)) * 255).astype(np.uint8))
        voices.append(active.sum(axis=0).astype(np.uint8))
    return Shard(np.stack(mels), np.stack(probabilities), np.stack(voices))
