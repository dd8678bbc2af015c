"""The sound of training windows: stretches of voices, faded, levelled, in rooms, over noise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from scipy.fft import next_fast_len
from torch import Tensor

from diarize.audio import SAMPLE_RATE
from diarize.mixing.acoustics import coloured_noise, room_bank, through_microphone
from diarize.mixing.channel import through_codec, through_telephone
from diarize.mixing.rooms import measured_rooms
from diarize.mixing.voices import FULL_SCALE, Voices

SOURCES = 3  # voices that one window can hold at most
FADE = SAMPLE_RATE // 100  # samples over which a voice that starts or stops in a window is faded
LEVEL = (-32.0, -18.0)  # decibels of full scale, root mean square of a window's speech alone
ROOMS = 48  # made rooms with a microphone, each with `SOURCES` places
MICROPHONES = 2  # through which each measured room is heard
RESPONSE = 0.5  # seconds of a measured response that are kept


@dataclass(frozen=True)
class Acoustics:
    """How windows sound.

    Attributes:
        gain: standard deviation of a voice's level, decibels; clipped at `gain_limit`.
        rooms: share of windows heard through a room and a microphone of their own.
        one_place: share of episodes that are one recording instead: one room and microphone for all
            windows, in which every voice keeps its place; `one_place_rooms` of them have one.
        noisy: share of windows with noise, at `snr` decibels.
        coded: share of episodes whose windows went through a telephone or a lossy codec.
        telephone: share of these that were the telephone.
        edges: between which frequencies the lower and the upper edge of a telephone's band lie, Hz;
            None: 300 and 3400 Hz.
    """

    gain: float = 3.0
    gain_limit: float = 10.0
    rooms: float = 0.5
    one_place: float = 0.75
    one_place_rooms: float = 0.6
    noisy: float = 0.6
    snr: tuple[float, float] = (3.0, 30.0)
    coded: float = 0.25
    telephone: float = 0.5
    edges: tuple[tuple[float, float], tuple[float, float]] | None = None


@dataclass(frozen=True)
class Sources:
    """Who is heard when in windows; times in samples.

    Attributes:
        voice: voices of each window, -1: none, `(windows, SOURCES)`.
        begin, end: when each of them begins and ends.
        known: whether a window is cut from speech of which it is known whose it is.
    """

    voice: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    known: np.ndarray


class Renderer:
    """Makes the sound of windows out of voices.

    Args:
        voices: their speech.
        noises: recordings of noise; synthetic noise comes beside them.
        acoustics: shares and levels.
        labelled: share of each voice's speech, its beginning, of which it is known whose it is.
        seed: of the made rooms, where none are given.
        rooms: responses of rooms with their places; None: made ones.
    """

    def __init__(
        self,
        voices: Voices,
        noises: list[np.ndarray],
        acoustics: Acoustics,
        labelled: float,
        seed: int,
        rooms: Float[np.ndarray, "rooms places taps"] | None = None,
    ) -> None:
        self.voices, self.noises = voices, noises
        self.acoustics, self.labelled = acoustics, labelled
        self.bank = torch.from_numpy(training_rooms(None, seed) if rooms is None else rooms)
        self._spectra: dict[int, Tensor] = {}

    def render(
        self, rng: np.random.Generator, sources: Sources, episodes: int, n: int
    ) -> Float[Tensor, "b samples"]:
        """Cut, fade, level, place into rooms, add, and lay noise under the windows."""
        config, b = self.acoustics, len(sources.voice)
        where = np.argwhere(sources.voice >= 0)  # (heard, 2)
        decibels = rng.normal(0, config.gain, len(where))
        gain = 10 ** (np.clip(decibels, -config.gain_limit, config.gain_limit) / 20)
        cut = np.empty((len(where), n), np.float32)
        for row, (window, source) in enumerate(where):
            voice, known = int(sources.voice[window, source]), bool(sources.known[window])
            self._cut(rng, *self.speech(voice, known, n), float(gain[row]), cut[row])
            fade(cut[row], int(sources.begin[window, source]), int(sources.end[window, source]))
        stretches = self._in_rooms(rng, torch.from_numpy(cut), sources.voice, where, episodes)
        audio = torch.zeros(b, n).index_add_(0, torch.from_numpy(where[:, 0]), stretches)
        power = audio.square().mean(dim=1).sqrt().numpy() + 1e-6
        for row in np.flatnonzero(rng.random(b) < config.noisy).tolist():
            snr = rng.uniform(*config.snr)
            audio[row].add_(self._noise(rng, n), alpha=float(power[row] * 10 ** (-snr / 20)))
        for windows in np.split(np.arange(b), episodes):
            if rng.random() < config.coded:
                episode = audio[windows[0] : windows[-1] + 1]  # one window after the other
                sent = self._coded(rng, episode.numpy().reshape(-1))
                episode.copy_(torch.from_numpy(sent).reshape(episode.shape))
        level = 10 ** (rng.uniform(*LEVEL, b) / 20) / power
        return audio.mul_(torch.from_numpy(level.astype(np.float32))[:, None])

    def speech(self, voice: int, known: bool, n: int) -> tuple[int, int]:
        """Where a voice's speech lies that is labelled, or the rest; all of it where all is."""
        start, end = int(self.voices.starts[voice]), int(self.voices.ends[voice])
        if self.labelled == 1.0:
            return start, end
        border = start + max(n, round(self.labelled * (end - start)))
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

    def _in_rooms(
        self,
        rng: np.random.Generator,
        stretches: Float[Tensor, "heard samples"],
        voice: np.ndarray,
        where: np.ndarray,
        episodes: int,
    ) -> Float[Tensor, "heard samples"]:
        """Hear stretches from their places, through the room of each window or of its recording.

        Row by row, `where` says of which window and source a stretch is.
        """
        config, n = self.acoustics, stretches.shape[1]
        wet = rng.random(len(voice)) < config.rooms
        room = rng.integers(len(self.bank), size=len(voice))
        places = np.broadcast_to(np.arange(SOURCES), voice.shape).copy()
        for windows in np.split(np.arange(len(voice)), episodes):
            if rng.random() < config.one_place:
                wet[windows] = rng.random() < config.one_place_rooms
                room[windows] = rng.integers(len(self.bank))
                # Of the row that stands for no voice nothing is heard.
                places[windows] = rng.integers(SOURCES, size=len(self.voices) + 1)[voice[windows]]
        heard = wet[where[:, 0]]
        if heard.any():
            spectra = self._room_spectra(n)
            size = 2 * (spectra.shape[-1] - 1)
            window, source = where[heard].T
            response = spectra[room[window], places[window, source]]
            through = torch.fft.irfft(torch.fft.rfft(stretches[heard], size) * response, size)
            stretches[torch.from_numpy(heard)] = through[:, :n]
        return stretches

    def _coded(self, rng: np.random.Generator, samples: np.ndarray) -> np.ndarray:
        """Samples as they come out of a telephone or a lossy codec."""
        if rng.random() >= self.acoustics.telephone:
            return through_codec(samples, rng)
        if self.acoustics.edges is None:
            return through_telephone(samples, rng)
        low, high = (float(rng.uniform(*edge)) for edge in self.acoustics.edges)
        return through_telephone(samples, rng, (low, high))

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


def training_rooms(measured: Path | None, seed: int) -> Float[np.ndarray, "rooms places taps"]:
    """Rooms with microphones: made ones and, where there is a folder of responses, those too."""
    rng = np.random.default_rng([seed, 1])
    bank = room_bank(rng, ROOMS, SOURCES)
    if measured is None:
        return bank
    taps = round(RESPONSE * SAMPLE_RATE)
    heard = [
        through_microphone(rng, _to(room, taps))
        for room in measured_rooms(measured, rng, SOURCES)
        for _ in range(MICROPHONES)
    ]
    return np.concatenate([_to(bank, taps), heard]).astype(np.float32)


def _to(responses: np.ndarray, taps: int) -> np.ndarray:
    """Cut off or pad with silence."""
    kept = responses[..., :taps]
    return np.pad(kept, [(0, 0)] * (kept.ndim - 1) + [(0, taps - kept.shape[-1])])


def fade(stretch: np.ndarray, begin: int, end: int) -> None:
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
    size = next_fast_len(n, real=True)
    while size % 2:
        size = next_fast_len(size + 1, real=True)
    return int(size)
