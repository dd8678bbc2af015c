"""Training episodes: a few voices, and windows of one, two or three of them, made on the fly.

The batch of step t is a function of the seed and t alone, so a training that was interrupted goes
on exactly as it would have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.features import GAIN, mfcc, torch_mfcc
from diarize.mixing.voices import UNNAMED, Voices
from diarize.training.rendering import FADE, SOURCES, Acoustics, Renderer, Sources

# A change closer than this to the middle of a window, or a fifth of a shorter one, leaves its label
# in doubt: none is put there.
CLEAR_OF_MIDDLE = 0.15  # seconds
# Cosines from which on two recordings without names, and two speakers with names of their own, may
# be one person's: some answer a survey twice. (Halves of one speaker's speech: 0.91 to 0.97.)
TOO_ALIKE, ONE_PERSON = 0.8, 0.93
CANDIDATES = 200  # voices among which an episode chooses


@dataclass(frozen=True)
class EpisodeConfig:
    """How episodes are made; windows are counted per episode.

    Attributes:
        episodes: episodes in one step.
        speakers: voices in one episode.
        singles: windows of one voice alone, for each voice.
        pairs, triples: windows in which two or three voices speak throughout.
        starts: windows in which a second voice begins or ends, before or after the middle.
        changes: windows in which one voice hands over to another.
        unanswered: share of those in which it hands over to silence, or begins after silence.
        seconds: window lengths; every step draws one.
        same_corpus: share of episodes whose voices come from one corpus.
        alike: share of episodes whose voices are chosen to resemble one another.
        acoustics: levels, rooms and noise.
        labelled: share of each voice's speech of which it is known whose it is, its beginning; half
            of the windows are cut from there.
    """

    episodes: int = 3
    speakers: int = 8
    singles: int = 2
    pairs: int = 16
    triples: int = 4
    starts: int = 6
    changes: int = 6
    unanswered: float = 0.35
    seconds: tuple[float, ...] = (0.5, 0.7, 1.0, 1.4, 2.0, 2.0, 2.5)
    same_corpus: float = 0.95
    alike: float = 0.4
    acoustics: Acoustics = field(default_factory=Acoustics)
    labelled: float = 1.0

    @classmethod
    def up_to(cls, max_set_size: int) -> EpisodeConfig:
        """As many windows, in which at most so many voices (1 to 3) are active at one time."""
        if max_set_size == 1:
            return cls(singles=5, pairs=0, triples=0, starts=0, changes=8)
        return cls() if max_set_size >= SOURCES else cls(pairs=20, triples=0)

    @property
    def windows(self) -> int:
        """Windows in one episode."""
        return self.speakers * self.singles + self.pairs + self.triples + self.starts + self.changes


@dataclass(frozen=True)
class Batch:
    """The windows of one step.

    Attributes:
        features: MFCC, or what else the windows are heard as.
        voices: the voices of each episode, as rows of `Voices`.
        members: for each episode and window, which of the episode's voices are active in the
            middle.
        alone: whether one voice alone is heard throughout; only such windows are references.
        known: whether `members` may be learned from; voice by voice the same for windows alone.
    """

    features: Float[Tensor, "b ..."]
    voices: Int64[Tensor, "episodes speakers"]
    members: Bool[Tensor, "episodes windows speakers"]
    alone: Bool[Tensor, "episodes windows"]
    known: Bool[Tensor, "episodes windows"]

    def to(self, device: str) -> Batch:
        """The same on another device."""
        return replace(self, **{f.name: getattr(self, f.name).to(device) for f in fields(self)})


class EpisodeMaker(torch.utils.data.Dataset[Batch]):
    """Item t is the batch of step t."""

    def __init__(
        self,
        voices: Voices,
        noises: list[np.ndarray],
        config: EpisodeConfig,
        seed: int,
        rooms: Float[np.ndarray, "rooms places taps"] | None = None,
    ) -> None:
        self.voices, self.config, self.seed = voices, config, seed
        self.speaker = np.unique(voices.speakers, return_inverse=True)[1]  # of each voice
        self.renderer = Renderer(voices, noises, config.acoustics, config.labelled, seed, rooms)

    def __getitem__(self, step: int) -> Batch:
        rng = np.random.default_rng([self.seed, 2, step])
        config = self.config
        n = round(float(rng.choice(config.seconds)) * SAMPLE_RATE)
        chosen = np.stack([self._choose(rng) for _ in range(config.episodes)])
        plans = [_plan(rng, config, n) for _ in range(config.episodes)]
        members = np.stack([plan.members for plan in plans])
        alone = np.stack([plan.alone for plan in plans])
        local = np.stack([plan.voice for plan in plans])  # (episodes, windows, sources), -1: none
        index = np.arange(config.episodes)[:, None, None]
        voice = np.where(local >= 0, chosen[index, local], -1).reshape(-1, SOURCES)
        begin = np.concatenate([plan.begin for plan in plans])
        end = np.concatenate([plan.end for plan in plans])
        known = np.stack([plan.known for plan in plans])
        sources = Sources(voice, begin, end, known.reshape(-1))
        audio = self.renderer.render(rng, sources, config.episodes, n)
        return Batch(
            self._features(audio),
            torch.from_numpy(chosen),
            torch.from_numpy(members),
            torch.from_numpy(alone),
            torch.from_numpy(known),
        )

    def _choose(self, rng: np.random.Generator) -> np.ndarray:
        """Choose an episode's voices: different speakers, mostly of one corpus, at times alike."""
        voices, config = self.voices, self.config
        order = rng.permutation(len(voices))
        if rng.random() < config.same_corpus:
            # A corpus of four times as many voices comes twice as often.
            names, counts = np.unique(voices.corpora, return_counts=True)
            share = np.sqrt(counts)
            elsewhere = voices.corpora[order] != rng.choice(names, p=share / share.sum())
            order = order[np.argsort(elsewhere, kind="stable")]
        candidates = order[:CANDIDATES]
        likeness = np.zeros((len(candidates), len(candidates)))
        if voices.heard is not None:
            likeness = voices.heard[candidates] @ voices.heard[candidates].T
            if rng.random() < config.alike:
                near = np.argsort(-likeness[0], kind="stable")
                candidates, likeness = candidates[near], likeness[np.ix_(near, near)]
        limit = np.where(voices.corpora[candidates] == UNNAMED, TOO_ALIKE, ONE_PERSON)
        same = self.speaker[candidates][:, None] == self.speaker[candidates]
        # Weights that tell nobody apart must not leave nobody to choose.
        for one_person in (same | (likeness > limit[:, None]), same):
            kept: list[int] = []
            for row in range(len(candidates)):
                if not one_person[row, kept].any():
                    kept.append(row)
                if len(kept) == config.speakers:
                    return candidates[kept]
        raise InputError(f"the speech holds fewer than {config.speakers} different voices")

    def _features(self, audio: Float[Tensor, "b samples"]) -> Float[Tensor, "b ..."]:
        if self._batched_mfcc is None:
            return torch.from_numpy(mfcc(audio.numpy()))
        with torch.inference_mode():
            return self._batched_mfcc(audio * GAIN).transpose(-1, -2).contiguous()

    @cached_property
    def _batched_mfcc(self) -> torch.nn.Module | None:
        """torchaudio's; None where there is none, or one made for another torch."""
        try:
            return torch_mfcc()
        except (ImportError, OSError):
            return None


@dataclass(frozen=True)
class _Plan:
    """Who speaks when in the windows of an episode; times in samples."""

    voice: np.ndarray  # (windows, SOURCES), -1: none
    begin: np.ndarray
    end: np.ndarray
    members: np.ndarray  # (windows, speakers)
    alone: np.ndarray  # (windows,)
    known: np.ndarray  # (windows,)


def _plan(rng: np.random.Generator, config: EpisodeConfig, n: int) -> _Plan:
    speakers, windows = config.speakers, config.windows
    voice = np.full((windows, SOURCES), -1)
    begin = np.full((windows, SOURCES), -FADE)
    end = np.full((windows, SOURCES), n + FADE)
    counts = (speakers * config.singles, config.pairs, config.triples, config.starts)
    single, pair, triple, start, change = np.split(np.arange(windows), np.cumsum(counts))
    voice[single, 0] = np.tile(np.arange(speakers), config.singles)
    several = np.concatenate([pair, triple, start, change])
    drawn = np.argsort(rng.random((len(several), speakers)), axis=1)
    voice[several, :2] = drawn[:, :2]
    if len(triple):
        voice[triple, 2] = drawn[len(pair) : len(pair) + len(triple), 2]
    for row in start:  # the second voice begins or ends somewhere, not near the middle
        if rng.random() < 0.5:
            begin[row, 1] = _instant(rng, n)
        else:
            end[row, 1] = _instant(rng, n)
    for row in change:
        end[row, 0] = _instant(rng, n)
        begin[row, 1] = end[row, 0] + int(rng.uniform(-0.1, 0.2) * SAMPLE_RATE)
        clear = int(clear_of_middle(n))
        if end[row, 0] < n / 2:  # the second voice is the one in the middle: clearly before it ...
            begin[row, 1] = min(begin[row, 1], int(n / 2) - clear)
        else:  # ... or clearly after it
            begin[row, 1] = max(begin[row, 1], int(n / 2) + clear)
        if rng.random() < config.unanswered:  # one voice, silent in a part clear of the middle
            voice[row, int(end[row, 0] > n / 2)] = -1
    active = (voice >= 0) & (begin < n / 2) & (end > n / 2)
    members = np.zeros((windows, speakers), bool)
    rows, sources = np.nonzero(active)
    members[rows, voice[rows, sources]] = True
    alone = np.zeros(windows, bool)
    alone[single] = True
    known = np.ones(windows, bool)
    if config.labelled < 1.0:  # whole rounds of windows alone, and every other one of the rest
        known[single] = single // speakers % 2 == 0
        known[several] = several % 2 == 0
    return _Plan(voice, begin, end, members, alone, known)


def clear_of_middle(n: int) -> float:
    """Samples by which a change in a window of n must miss its middle."""
    return min(CLEAR_OF_MIDDLE * SAMPLE_RATE, n / 5)


def _instant(rng: np.random.Generator, n: int) -> int:
    """Draw a time within a window that is clear of its middle and of its ends."""
    middle, clear = n / 2, clear_of_middle(n)
    distance = rng.uniform(clear, middle - clear)
    return int(middle + distance * rng.choice((-1, 1)))


def require_speakers(voices: Voices, least: int, folders: Sequence[Path]) -> None:
    """Raise InputError if fewer than `least` speak in the folders: so many meet in an episode."""
    speakers = len(np.unique(voices.speakers))
    if speakers < least:
        where = ", ".join(map(str, folders))
        raise InputError(f"{where}: {speakers} speakers, but {least} meet in training")
