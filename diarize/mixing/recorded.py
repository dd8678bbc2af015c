"""Stretches of recordings without labels, heard through rooms, noise and each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.mixing.acoustics import impulse_response, through_response, unit_power
from diarize.mixing.channel import through_codec, through_telephone
from diarize.mixing.replay import Replay
from diarize.mixing.speech import audio_files, read_samples

LONG = 20.0  # seconds from which on a recording is talk; shorter ones are joined
PAUSE = 0.4  # seconds between two joined ones, on average
JOINED = 6
MIXED = 0.6  # share of stretches that are heard through another one, or through replayed talk
BESIDE = (-15.0, 8.0)  # dB, its level


@dataclass(frozen=True)
class Surroundings:
    """Through what a sound is heard: shares of what is drawn for each one.

    Attributes:
        placed: share heard in a room.
        coloured: by another microphone.
        noisy: with a background.
        snr: range of the sound's level over it, decibels.
        coded: through a telephone, and through a codec.
    """

    placed: float = 0.4
    coloured: float = 0.3
    noisy: float = 0.5
    snr: tuple[float, float] = (5.0, 35.0)
    coded: float = 0.1

    def around(
        self, sound: Float32[np.ndarray, "samples"], replay: Replay, rng: np.random.Generator
    ) -> Float32[np.ndarray, "samples"]:
        """Let a sound be heard through rooms and noises of `replay`."""
        if rng.random() < self.placed:
            room = replay.rooms[int(rng.integers(len(replay.rooms)))]
            sound = through_response(sound, room[int(rng.integers(len(room)))])
        if rng.random() < self.coloured:
            sound = through_response(sound, impulse_response(rng, None, 0.0))
        if rng.random() < self.noisy:
            level = np.float32(10 ** (-rng.uniform(*self.snr) / 20))
            sound = unit_power(sound) + level * replay.background(len(sound), rng)
        for through in (through_telephone, through_codec):
            if rng.random() < self.coded:
                sound = through(sound, rng)
        return sound


@dataclass(frozen=True)
class Recorded:
    """Draws stretches; what `draw` makes depends on the seed of `replay` and the number alone.

    Attributes:
        long: recordings of talk.
        short: recordings of single utterances.
        replay: whose rooms, noises and talk are heard with them.
    """

    long: Sequence[Float32[np.ndarray, "_"]]
    short: Sequence[Float32[np.ndarray, "_"]]
    replay: Replay

    @classmethod
    def of(cls, folders: Sequence[Path], replay: Replay) -> Recorded:
        """Read all recordings of some folders.

        Raises:
            InputError: no such folder, no recordings, or one that cannot be read.
        """
        sounds = [read_samples(path) for folder in folders for path in audio_files(folder)]
        if not sounds:
            raise InputError("no recordings in " + ", ".join(str(f) for f in folders))
        long = [sound for sound in sounds if len(sound) >= LONG * SAMPLE_RATE]
        return cls(long, [s for s in sounds if len(s) < LONG * SAMPLE_RATE], replay)

    def draw(self, number: int, seconds: float) -> Float32[np.ndarray, "samples"]:
        """Draw a stretch."""
        rng = np.random.default_rng([self.replay.seed, 8, number])
        n = round(seconds * SAMPLE_RATE)
        heard = self._stretch(rng, n)
        if rng.random() < MIXED:
            replayed = rng.random() < 0.5
            other = self.replay.draw(number, seconds)[0] if replayed else self._stretch(rng, n)
            heard = heard + unit_power(other) * np.float32(10 ** (rng.uniform(*BESIDE) / 20))
        return Surroundings().around(heard, self.replay, rng)

    def _stretch(self, rng: np.random.Generator, n: int) -> Float32[np.ndarray, "n"]:
        """Cut from a long recording or, as often, from short ones, one after the other."""
        if self.long and (not self.short or rng.random() < 0.5):
            sound = self.long[int(rng.integers(len(self.long)))]
        else:
            parts: list[np.ndarray] = []
            for chosen in rng.integers(len(self.short), size=JOINED).tolist():
                parts += [self.short[chosen], np.zeros(round(rng.exponential(PAUSE) * SAMPLE_RATE))]
            sound = np.concatenate(parts)
        begin = int(rng.integers(max(1, len(sound) - n)))
        return unit_power(np.resize(sound[begin : begin + n], n))
