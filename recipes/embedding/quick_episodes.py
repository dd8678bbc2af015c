"""Training episodes out of a pack, made on a processor.

Most of the time went into voices at other speeds and with other formants. Here whole voices are
varied, `VARIANTS` of each, of which a few are made anew with every batch, and windows are cut from
these; what one variant says is heard in several windows, in other places and mixtures.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import torch
from jaxtyping import Float
from packed_episodes import FORMANTS, MADE, Episodes, Plans
from scipy.fft import next_fast_len
from torch import Tensor

from diarize.features import GAIN, mfcc
from diarize.mixing.acoustics import coloured_noise
from diarize.mixing.voices import FULL_SCALE, SPEEDS
from diarize.training.rendering import FADE

VARIANTS = 3  # of each voice
ANEW = 0.5  # voices that are varied anew for each episode
SHORTEST = 2_000  # samples of a voice whose formants move
STRETCHES, LONG, LOUD = 60, 1 << 19, 3000.0  # of made noise, their samples, and their level
QUIETEST = 32.0  # level of noise that is brought to a level, in steps of 16 bits
PIECE = 64  # windows at once, so that they stay near the processor


@numba.njit(fastmath=True, cache=True)
def _lay(voices, starts, lengths, slots, offsets, gains, begins, ends, out):
    """Cut stretches of 16 bits, over and over where a voice is short, and fade them."""
    n = out.shape[1]
    for r in range(len(slots)):
        start, length, gain = starts[slots[r]], lengths[slots[r]], np.float32(gains[r])
        done, offset = 0, offsets[r]
        while done < n:
            take = min(n - done, length - offset)
            row, said = out[r, done : done + take], voices[start + offset : start + offset + take]
            for k in range(take):
                row[k] = gain * np.float32(said[k])
            done, offset = done + take, 0
        row, begin, end = out[r], begins[r], ends[r]
        for k in range(min(n, max(0, int(begin) + FADE + 1))):
            row[k] *= min(max((k - begin) / FADE, 0.0), 1.0)
        for k in range(max(0, min(n, int(end) - FADE)), n):
            row[k] *= min(max((end - k) / FADE, 0.0), 1.0)


@numba.njit(fastmath=True, cache=True)
def _add_noise(audio, rows, noise, offsets, decibels):
    """Add noise of 16 bits to some windows, so many decibels below them."""
    n = audio.shape[1]
    for r in range(len(rows)):
        row, heard = audio[rows[r]], noise[offsets[r] : offsets[r] + n]
        speech, power = np.float32(0), np.float32(0)
        for k in range(n):
            speech += row[k] * row[k]
            power += np.float32(heard[k]) * np.float32(heard[k])
        ratio = (math.sqrt(speech / n) + 1e-6) / max(math.sqrt(power / n), QUIETEST)
        gain = np.float32(ratio * 10 ** (-decibels[r] / 20))
        for k in range(n):
            row[k] += gain * np.float32(heard[k])


class QuickEpisodes(Episodes):
    """Makes batches on a processor."""

    def __init__(self, *told: Any) -> None:
        super().__init__(*told)
        length = self.ends - self.starts
        room = ((length / min(SPEEDS)).ceil().long() + 1).repeat(VARIANTS)
        self.slots = (room.cumsum(0) - room).numpy()  # where each variant begins
        self.spoken = np.zeros(len(room), np.int64)  # and its samples
        self.variants = np.empty(int(room.sum()), np.int16)
        self.rng = np.random.default_rng(int(self.lengths.integers(2**60)))
        self.turn: list[int] = []
        for variant in range(len(room)):
            self._vary(variant)
        made = np.concatenate([coloured_noise(self.rng, LONG) for _ in range(STRETCHES)])
        made = (LOUD * made).clip(-FULL_SCALE, FULL_SCALE).astype(np.int16)
        self.banks = made, self.noise.numpy()

    def _front_end(self) -> Callable[[Tensor], Tensor]:
        def heard(audio: Float[Tensor, "b samples"]) -> Float[Tensor, "b 32 frames"]:
            pieces = (audio / GAIN).split(PIECE // 4)
            return torch.from_numpy(np.concatenate([mfcc(one.numpy()) for one in pieces])).mT

        return heard

    def _vary(self, variant: int) -> None:
        """Make a variant anew: another speed, other formants, or as recorded."""
        voice = torch.tensor([variant % len(self.starts)])
        speed = self._factors((min(SPEEDS), max(SPEEDS)), 1)
        samples = int((self.ends - self.starts)[voice] / speed)
        sound = self._cut(voice, speed, samples)
        factor = self._factors(FORMANTS, 1)
        if samples > SHORTEST:
            sound = self._with_formants(sound, factor)
        slot = self.slots[variant]
        said = (sound[0] * FULL_SCALE).clamp(-FULL_SCALE, FULL_SCALE)
        self.variants[slot : slot + samples] = said.short().numpy()
        self.spoken[variant] = samples

    def _windows(self) -> tuple[Tensor, Tensor, Plans]:
        for _ in range(round(ANEW * self.config.episodes)):
            if not self.turn:
                self.turn = self.rng.permutation(len(self.slots)).tolist()
            self._vary(self.turn.pop())
        return super()._windows()

    def _sources(
        self, chosen: Tensor, plans: Plans, where: Tensor, local: Tensor, n: int
    ) -> Float[Tensor, "heard samples"]:
        variant = (self._random(*chosen.shape) * VARIANTS).long()
        slot = (chosen + variant * len(self.starts))[where[:, 0], local].numpy()
        spoken = self.spoken[slot]
        places = np.where(spoken > n, spoken - n, spoken)  # of a short voice, any beginning
        offset = (self.rng.random(len(slot)) * places).astype(np.int64)
        gain = (self._gains(len(slot)) / FULL_SCALE).numpy()
        begin, end = (t[tuple(where.T)].numpy() for t in (plans.begin, plans.end))
        sound = np.empty((len(slot), n), np.float32)
        _lay(self.variants, self.slots, self.spoken, slot, offset, gain, begin, end, sound)
        return torch.from_numpy(sound)

    def _in_rooms(
        self, sound: Float[Tensor, "heard samples"], where: Tensor, local: Tensor
    ) -> Float[Tensor, "b samples"]:
        heard, (room, place) = self._rooms_of(where, local)
        n, windows = sound.shape[1], self.config.windows
        row = where[:, 0] * windows + where[:, 1]  # in order
        dry = torch.ones(len(sound), dtype=torch.bool)
        dry[heard] = False
        audio = torch.zeros(self.config.episodes * windows, n)
        audio.index_add_(0, row[dry], sound[dry])
        size = next_fast_len(n + self.rooms.shape[-1] - 1, real=True)
        responses = self._spectra_of_rooms(size)
        for begin in range(0, len(heard), PIECE):
            some = slice(begin, begin + PIECE)
            spectra = torch.fft.rfft(sound[heard[some]], size).mul_(
                responses[room[some], place[some]]
            )
            rows, of = row[heard[some]].unique_consecutive(return_inverse=True)
            total = spectra.new_zeros(len(rows), spectra.shape[1]).index_add_(0, of, spectra)
            audio.index_add_(0, rows, torch.fft.irfft(total, size)[:, :n])
        return audio

    def _with_noise(self, audio: Float[Tensor, "b samples"]) -> Float[Tensor, "b samples"]:
        acoustics, rng = self.config.acoustics, self.rng
        rows = np.flatnonzero(rng.random(len(audio)) < acoustics.noisy)
        decibels = rng.uniform(*acoustics.snr, len(rows))
        made = rng.random(len(rows)) < MADE
        for bank, of in zip(self.banks, (made, ~made), strict=True):
            offsets = (rng.random(of.sum()) * (len(bank) - audio.shape[1])).astype(np.int64)
            _add_noise(audio.numpy(), rows[of], bank, offsets, decibels[of])
        return audio


def episodes_on(device: str) -> type[Episodes]:
    """What makes episodes there."""
    return QuickEpisodes if device == "cpu" else Episodes
