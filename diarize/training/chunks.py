"""Replayed talk as the network hears it, rendered once and kept in shards on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32, UInt8

from diarize.audio import SAMPLE_RATE
from diarize.features import N_FFT, STEP, log_mel
from diarize.files import atomic_output
from diarize.mixing.replay import LOUD_PEAK, Replay

SECONDS = 16.0  # of one chunk
PER_SHARD = 128  # chunks
LOWEST, NATS = -14.0, 0.1  # of the logarithms, as bytes
LEVEL_ERROR = (-2.0, 5.0)  # dB, mean and deviation: a chunk is no whole recording
CHUNK = 512  # samples for which silero-vad has one answer


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


def centred_log_mel(samples: Float32[np.ndarray, "samples"]) -> Float32[np.ndarray, "frames 64"]:
    """Log-mel bands of frames centred on each 10 ms: frame t is the sound around 10 t + 5 ms."""
    margin = (N_FFT - STEP) // 2
    return log_mel(np.pad(samples, margin))


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
        mel = centred_log_mel(samples)
        mels.append(np.clip(np.round((mel - LOWEST) / NATS), 0, 255).astype(np.uint8))
        chunks = np.pad(samples, (0, -len(samples) % CHUNK)).reshape(-1, CHUNK)
        probabilities.append(np.round(SileroNetwork()(chunks) * 255).astype(np.uint8))
        voices.append(active.sum(axis=0).astype(np.uint8))
    return Shard(np.stack(mels), np.stack(probabilities), np.stack(voices))


def hints_of(
    probabilities: Float32[np.ndarray, "*batch n"], steps: int
) -> Float32[np.ndarray, "*batch steps 2"]:
    """Log-odds of speech for both halves of each step of 40 ms, of order one."""
    middles = (np.arange(2 * steps) + 0.5) * (2 * STEP)
    at = np.minimum((middles / CHUNK).astype(np.int64), probabilities.shape[-1] - 1)
    odds = np.clip(probabilities[..., at], 1e-3, 1 - 1e-3)
    logits = np.log(odds / (1 - odds)) / 4
    return logits.reshape(*probabilities.shape[:-1], steps, 2).astype(np.float32)


def seconds_to_samples(seconds: float) -> int:
    """Whole samples."""
    return round(seconds * SAMPLE_RATE)
