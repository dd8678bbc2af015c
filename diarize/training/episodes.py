"""Training episodes: a few voices, and windows of one, two or three of them, made on the fly.

The batch of step t is a function of the seed and t alone, so a training that was interrupted goes
on exactly as it would have.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.features import GAIN, mfcc, subtract_mean, torch_mfcc
from diarize.mixing.acoustics import coloured_noise, room_bank
from diarize.training.voices import FULL_SCALE, Voices

SOURCES = 3  # voices that one window can hold at most
FADE = SAMPLE_RATE // 100  # samples over which a voice that starts or stops in a window is faded
# A change closer than this to the middle of a window leaves its label in doubt: none is put there.
CLEAR_OF_MIDDLE = 0.15  # seconds
# Voices whose teacher's vectors have a larger cosine may be one speaker's (recordings without
# names).
TOO_ALIKE = 0.85
LEVEL = (-32.0, -18.0)  # decibels of full scale, root mean square of a window
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
        gain: standard deviation of a voice's level, decibels; clipped at `gain_limit`.
        rooms: share of windows heard through a room and a microphone.
        noisy: share of windows with noise, at `snr` decibels.
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
    seconds: tuple[float, ...] = (1.2, 1.6, 2.0, 2.0, 2.5)
    same_corpus: float = 0.8
    alike: float = 0.4
    gain: float = 3.0
    gain_limit: float = 10.0
    rooms: float = 0.5
    noisy: float = 0.6
    snr: tuple[float, float] = (3.0, 30.0)
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
        features: MFCC with each window's mean subtracted.
        voices: the voices of each episode, as rows of `Voices`.
        members: for each episode and window, which of the episode's voices are active in the
            middle.
        alone: whether one voice alone is heard throughout; only such windows are references.
        steady: whether the same voices are heard throughout, one or several.
        known: whether `members` may be learned from; voice by voice the same for windows alone.
    """

    features: Float[Tensor, "b frames 32"]
    voices: Int64[Tensor, "episodes speakers"]
    members: Bool[Tensor, "episodes windows speakers"]
    alone: Bool[Tensor, "episodes windows"]
    steady: Bool[Tensor, "episodes windows"]
    known: Bool[Tensor, "episodes windows"]

    def to(self, device: str) -> Batch:
        """The same on another device."""
        return Batch(**{f.name: getattr(self, f.name).to(device) for f in fields(self)})


class EpisodeMaker(torch.utils.data.Dataset):
    """Item t is the batch of step t."""

    def __init__(
        self, voices: Voices, noises: list[np.ndarray], config: EpisodeConfig, seed: int
    ) -> None:
        self.voices, self.noises, self.config, self.seed = voices, noises, config, seed
        self.bank = torch.from_numpy(room_bank(np.random.default_rng([seed, 1]), 48, SOURCES))
        self._spectra: dict[int, Tensor] = {}

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
        audio = self._mix(rng, voice, begin, end, known.reshape(-1), n)
        return Batch(
            self._features(audio),
            torch.from_numpy(chosen),
            torch.from_numpy(members),
            torch.from_numpy(alone),
            torch.from_numpy(np.stack([plan.steady for plan in plans])),
            torch.from_numpy(known),
        )

    def _choose(self, rng: np.random.Generator) -> np.ndarray:
        """Choose an episode's voices: different speakers, mostly of one corpus, at times alike."""
        voices, config = self.voices, self.config
        order = rng.permutation(len(voices))
        if rng.random() < config.same_corpus:
            # A corpus comes as often as it has voices, but never less often than one time in ten.
            names, counts = np.unique(voices.corpora, return_counts=True)
            share = np.maximum(counts / counts.sum(), 0.1)
            elsewhere = voices.corpora[order] != rng.choice(names, p=share / share.sum())
            order = order[np.argsort(elsewhere, kind="stable")]
        candidates = order[:CANDIDATES]
        likeness = np.zeros((len(candidates), len(candidates)))
        if voices.heard is not None:
            likeness = voices.heard[candidates] @ voices.heard[candidates].T
            if rng.random() < config.alike:
                near = np.argsort(-likeness[0], kind="stable")
                candidates, likeness = candidates[near], likeness[np.ix_(near, near)]
        kept: list[int] = []
        for row, candidate in enumerate(candidates):
            another = (voices.speakers[candidates[kept]] != voices.speakers[candidate]).all()
            if another and (likeness[row, kept] < TOO_ALIKE).all():
                kept.append(row)
            if len(kept) == config.speakers:
                return candidates[kept]
        raise InputError(f"the speech holds fewer than {config.speakers} different voices")

    def _mix(
        self,
        rng: np.random.Generator,
        voice: np.ndarray,
        begin: np.ndarray,
        end: np.ndarray,
        known: np.ndarray,
        n: int,
    ) -> Float[Tensor, "b samples"]:
        """Cut, fade, level, place into rooms, add, and lay noise under the windows."""
        config, b = self.config, len(voice)
        where = np.argwhere(voice >= 0)  # (sources, 2)
        decibels = rng.normal(0, config.gain, len(where))
        gain = 10 ** (np.clip(decibels, -config.gain_limit, config.gain_limit) / 20)
        cut = np.empty((len(where), n), np.float32)
        for row, (window, source) in enumerate(where):
            start, stop = self._speech(int(voice[window, source]), bool(known[window]), n)
            self._cut(rng, start, stop, float(gain[row]), cut[row])
            _fade(cut[row], int(begin[window, source]), int(end[window, source]))
        stretches = torch.from_numpy(cut)
        roomy = rng.random(b) < config.rooms
        room = rng.integers(len(self.bank), size=b)
        wet = roomy[where[:, 0]]
        if wet.any():
            spectra = self._room_spectra(n)
            size = 2 * (spectra.shape[-1] - 1)
            chosen = spectra[room[where[wet, 0]], where[wet, 1]]
            heard = torch.fft.irfft(torch.fft.rfft(stretches[wet], size) * chosen, size)
            stretches[torch.from_numpy(wet)] = heard[:, :n]
        audio = torch.zeros(b, n).index_add_(0, torch.from_numpy(where[:, 0]), stretches)
        power = audio.square().mean(dim=1).sqrt().numpy() + 1e-6
        for row in np.flatnonzero(rng.random(b) < config.noisy).tolist():
            snr = rng.uniform(*config.snr)
            audio[row].add_(self._noise(rng, n), alpha=float(power[row] * 10 ** (-snr / 20)))
        level = 10 ** (rng.uniform(*LEVEL, b) / 20) / power
        return audio.mul_(torch.from_numpy(level.astype(np.float32))[:, None])

    def _speech(self, voice: int, known: bool, n: int) -> tuple[int, int]:
        """Where a voice's speech lies that is labelled, or the rest; all of it where all is."""
        start, end = int(self.voices.starts[voice]), int(self.voices.ends[voice])
        if self.config.labelled == 1.0:
            return start, end
        border = start + max(n, round(self.config.labelled * (end - start)))
        if known or border + n > end:
            return start, min(border, end)
        return border, end

    def _cut(
        self, rng: np.random.Generator, start: int, end: int, gain: float, out: np.ndarray
    ) -> None:
        """Take a stretch of a voice's speech; one shorter than the window is repeated."""
        n = len(out)
        if end - start > n:
            offset = int(start + rng.integers(end - start - n))
            stretch = self.voices.samples[offset : offset + n]
        else:
            stretch = np.resize(self.voices.samples[start:end], n)
        np.multiply(stretch, np.float32(gain / FULL_SCALE), out=out)

    def _room_spectra(self, n: int) -> Tensor:
        if n not in self._spectra:
            size = _fast_size(n + self.bank.shape[-1])
            self._spectra[n] = torch.fft.rfft(self.bank, size)
        return self._spectra[n]

    def _noise(self, rng: np.random.Generator, n: int) -> Tensor:
        if not self.noises or rng.random() < 0.3:
            return torch.from_numpy(coloured_noise(rng, n))
        noise = self.noises[rng.integers(len(self.noises))]
        offset = rng.integers(max(1, len(noise) - n))
        piece = np.resize(noise[offset : offset + n], n)
        return torch.from_numpy(piece / max(float(piece.std()), 1e-2))

    def _features(self, audio: Float[Tensor, "b samples"]) -> Float[Tensor, "b frames 32"]:
        if self._batched_mfcc is None:
            return torch.from_numpy(subtract_mean(mfcc(audio.numpy())))
        with torch.inference_mode():
            coefficients = self._batched_mfcc(audio * GAIN).transpose(-1, -2)
            return (coefficients - coefficients.mean(dim=-2, keepdim=True)).clone()

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
    steady: np.ndarray  # (windows,)
    known: np.ndarray  # (windows,)


def _plan(rng: np.random.Generator, config: EpisodeConfig, n: int) -> _Plan:
    speakers, windows = config.speakers, config.windows
    voice = np.full((windows, SOURCES), -1)
    begin = np.full((windows, SOURCES), -FADE)
    end = np.full((windows, SOURCES), n + FADE)
    counts = (
        speakers * config.singles,
        config.pairs,
        config.triples,
        config.starts,
        config.changes,
    )
    single, pair, triple, start, change = np.split(np.arange(windows), np.cumsum(counts)[:-1])
    voice[single, 0] = np.tile(np.arange(speakers), config.singles)
    several = np.concatenate([pair, triple, start, change])
    drawn = np.argsort(rng.random((len(several), speakers)), axis=1)
    voice[several, :2] = drawn[:, :2]
    voice[triple, 2] = drawn[len(pair) : len(pair) + len(triple), 2]
    for row in start:  # the second voice begins or ends somewhere, not near the middle
        if rng.random() < 0.5:
            begin[row, 1] = _instant(rng, n)
        else:
            end[row, 1] = _instant(rng, n)
    for row in change:
        end[row, 0] = _instant(rng, n)
        begin[row, 1] = end[row, 0] + int(rng.uniform(-0.1, 0.2) * SAMPLE_RATE)
        if end[row, 0] < n / 2:  # the second voice is the one in the middle: clearly before it ...
            begin[row, 1] = min(begin[row, 1], int(n / 2 - CLEAR_OF_MIDDLE * SAMPLE_RATE))
        else:  # ... or clearly after it
            begin[row, 1] = max(begin[row, 1], int(n / 2 + CLEAR_OF_MIDDLE * SAMPLE_RATE))
        if rng.random() < config.unanswered:  # one voice, silent in a part clear of the middle
            voice[row, int(end[row, 0] > n / 2)] = -1
    active = (voice >= 0) & (begin < n / 2) & (end > n / 2)
    members = np.zeros((windows, speakers), bool)
    rows, sources = np.nonzero(active)
    members[rows, voice[rows, sources]] = True
    alone = np.zeros(windows, bool)
    alone[single] = True
    steady = alone.copy()
    steady[np.concatenate([pair, triple])] = True
    known = np.ones(windows, bool)
    if config.labelled < 1.0:  # whole rounds of windows alone, and every other one of the rest
        known[single] = single // speakers % 2 == 0
        known[several] = several % 2 == 0
    return _Plan(voice, begin, end, members, alone, steady, known)


def _instant(rng: np.random.Generator, n: int) -> int:
    """Draw a time within a window that is clear of its middle and of its ends."""
    middle, clear = n / 2, CLEAR_OF_MIDDLE * SAMPLE_RATE
    distance = rng.uniform(clear, middle - clear)
    return int(middle + distance * rng.choice((-1, 1)))


def _fade(stretch: np.ndarray, begin: int, end: int) -> None:
    """Silence a stretch outside `begin` to `end`, with short linear slopes."""
    n = len(stretch)
    slope = np.linspace(0, 1, FADE, dtype=np.float32)
    if begin > 0:
        stretch[:begin] = 0
        stretch[begin : begin + FADE] *= slope[: max(0, n - begin)]
    if end < n:
        stretch[max(0, end) :] = 0
        stretch[max(0, end - FADE) : max(0, end)] *= slope[::-1][-min(FADE, max(0, end)) :]


def _fast_size(n: int) -> int:
    """The next even product of small primes, for the FFT."""
    from scipy.fft import next_fast_len

    size = next_fast_len(n, real=True)
    while size % 2:
        size = next_fast_len(size + 1, real=True)
    return int(size)
