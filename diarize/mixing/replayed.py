"""Recordings of replayed talk: stretches of real conversations, spoken again by other voices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float32

from diarize.activity.regions import runs
from diarize.errors import InputError
from diarize.formats.turns import Turn, annotated
from diarize.mixing.replay import Replay
from diarize.mixing.speech import FRAME_SECONDS, require_range
from diarize.mixing.talk import Talk

if TYPE_CHECKING:
    from pyannote.core import Annotation

PEAKS = (0.05, 0.5)  # of full scale, between which the 99.9th percentile of a recording lies
LEAST = 0.5  # seconds that each speaker of a stretch must talk
TRIES = 1000  # stretches that are looked at before it is said that there is none


@dataclass
class ReplayedConversations:
    """Stretches of talk, replayed; item i depends on the seed of `replay` and i alone.

    Attributes:
        replay: talk, voices and scenes.
        speakers: fewest and most speakers of one stretch.
        seconds: length of a stretch; of talks that are all shorter, all is taken.
    """

    replay: Replay
    speakers: tuple[int, int] = (2, 5)
    seconds: float = 60.0

    def __post_init__(self) -> None:
        """Look for a stretch.

        Raises:
            InputError: fewer voices than a stretch may have speakers, or there is no such stretch.
        """
        require_range(self.speakers, self.replay.n_speakers)
        long = [talk for talk in self.replay.talks if talk.seconds >= self.seconds]
        self._talks = long or list(self.replay.talks)
        self._stretch(self._generator(0))

    def draw(self, number: int) -> tuple[Float32[np.ndarray, "samples"], Annotation]:
        """Make recording `number`: 16 kHz samples, and who speaks when in them."""
        rng = self._generator(number)
        part, seconds = self._stretch(rng)
        chosen = self.replay.choose(part.n_speakers, rng)
        samples, active = self.replay.perform(part, chosen, seconds, rng)
        loud = max(float(np.percentile(np.abs(samples), 99.9)), 1e-7)
        samples = np.clip(samples * np.float32(rng.uniform(*PEAKS) / loud), -1, 1)
        names = self.replay.voices.speakers[chosen].tolist()
        return samples, reference(active, names, f"replay_{number:03d}")

    def _generator(self, number: int) -> np.random.Generator:
        return np.random.default_rng([self.replay.seed, number])

    def _stretch(self, rng: np.random.Generator) -> tuple[Talk, float]:
        low, high = self.speakers
        for _ in range(TRIES):
            talk = self._talks[int(rng.integers(len(self._talks)))]
            seconds = min(self.seconds, talk.seconds)
            part = talk.cut(float(rng.uniform(0, talk.seconds - seconds)), seconds)
            talked = np.bincount(part.speakers, np.diff(part.times)[:, 0])
            if low <= part.n_speakers <= high and talked.min() >= LEAST:
                return part, seconds
        raise InputError(
            f"no stretch of {self.seconds:g} s in which {low} to {high} people talk was found"
        )


def reference(
    active: Bool[np.ndarray, "speakers frames"], names: Sequence[str], uri: str
) -> Annotation:
    """Who speaks when, out of the frames in which each voice has speech."""
    turns = (
        Turn(begin * FRAME_SECONDS, end * FRAME_SECONDS, name)
        for name, row in zip(names, active, strict=True)
        for begin, end in runs(row).tolist()
    )
    return annotated(turns, uri)[0]
