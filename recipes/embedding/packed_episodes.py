"""Training episodes out of a pack: sound is cut, mixed and heard on a device, a batch at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from packs import read_sound
from torch import Tensor

from diarize.audio import SAMPLE_RATE
from diarize.features import GAIN, torch_mfcc
from diarize.mixing.channel import TELEPHONE
from diarize.mixing.voices import FULL_SCALE, SPEEDS
from diarize.training.episodes import ONE_PERSON, TOO_ALIKE, Batch, EpisodeConfig, clear_of_middle
from diarize.training.rendering import FADE, LEVEL, SOURCES

CANDIDATES = 40  # voices among which an episode chooses those that are alike
AS_RECORDED = 0.4  # share of an episode's voices that are played at their own speed
FORMANTS = (0.88, 1.14)  # factors on their frequencies, at the pitch that a voice has
SPECTRUM, ENVELOPE = 512, 32  # samples: of a spectrum, and of the cepstrum that is its envelope
BANDS = (3_500.0, 7_500.0)  # Hz above which a codec keeps nothing
MU = 255.0
MADE = 0.3  # share of noises that are made


def joined(batches: Sequence[Batch]) -> Batch:
    """All episodes of some batches."""
    names = [field.name for field in fields(Batch)]
    return Batch(**{name: torch.cat([getattr(one, name) for one in batches]) for name in names})


@dataclass(frozen=True)
class Plans:
    """Who is heard when in the windows of a step; times in samples.

    Attributes:
        voice: which of the episode's voices each source is, -1: none.
        begin, end: when it is heard.
        members: who is active in the middle.
        alone: windows of one voice.
    """

    voice: Int64[Tensor, "episodes windows sources"]
    begin: Float[Tensor, "episodes windows sources"]
    end: Float[Tensor, "episodes windows sources"]
    members: Bool[Tensor, "episodes windows speakers"]
    alone: Bool[Tensor, "episodes windows"]


class Episodes:
    """Makes batches on a device, all windows of a step at once.

    A training that goes on at a `step` hears other ones than from its beginning on.
    """

    def __init__(
        self,
        folder: Path,
        config: EpisodeConfig,
        device: str,
        seed: int,
        of_all: bool = True,
        step: int = 0,
    ) -> None:
        self.config, self.device = config, device
        self.samples = read_sound(folder / "speech.opus", device)
        self.noise = read_sound(folder / "noise.opus", device)
        self.rooms = torch.from_numpy(np.load(folder / "rooms.npy")).float().to(device)
        with np.load(folder / "table.npz") as table:
            chosen = table["train"] | of_all
            columns = {k: torch.from_numpy(table[k][chosen]).to(device) for k in table.files}
        self.starts, self.ends = columns["starts"], columns["ends"]
        self.corpora = columns["corpora"]
        self.limit = torch.where(columns["unnamed"], TOO_ALIKE, ONE_PERSON)
        self.heard = columns["heard"].float() if "heard" in columns else None
        self.share = torch.bincount(self.corpora).float().sqrt()
        self.mfcc = self._front_end()
        self.hann = torch.hann_window(SPECTRUM, device=device)
        self.lifter = torch.zeros(SPECTRUM, device=device)
        self.lifter[:ENVELOPE] = 1.0
        self.lifter[1 - ENVELOPE :] = 1.0
        again = int(np.random.SeedSequence([seed, step]).generate_state(1)[0])
        self.draw = torch.Generator(device).manual_seed(again if step else seed)
        self.lengths = np.random.default_rng([seed, 9, step])
        self._spectra: dict[int, Tensor] = {}

    def _front_end(self) -> Callable[[Tensor], Tensor]:
        return torch_mfcc(self.device)

    def batch(self) -> Batch:
        """The windows of the next step."""
        audio, chosen, plans = self._windows()
        return self._heard(self._coded(audio), chosen, plans)

    def both_sides(self) -> Batch:
        """The windows of the next step after a channel, and the same before it."""
        audio, chosen, plans = self._windows()
        return joined([self._heard(x, chosen, plans) for x in (self._coded(audio), audio)])

    def _windows(self) -> tuple[Float[Tensor, "b samples"], Tensor, Plans]:
        """Before any channel, with the voices of the episodes."""
        n = round(float(self.lengths.choice(self.config.seconds)) * SAMPLE_RATE)
        chosen = self._choose()
        plans = self._plan(n)
        return self._render(chosen, plans, n), chosen, plans

    def _heard(self, audio: Float[Tensor, "b samples"], chosen: Tensor, plans: Plans) -> Batch:
        level = LEVEL[0] + (LEVEL[1] - LEVEL[0]) * self._random(len(audio), 1)
        power = audio.square().mean(dim=1, keepdim=True).sqrt() + 1e-6
        with torch.inference_mode():
            features = self.mfcc(audio * 10 ** (level / 20) / power * GAIN)
        known = torch.ones_like(plans.alone)
        features = features.transpose(-1, -2).clone()
        return Batch(features, chosen, plans.members, plans.alone, known)

    def _random(self, *shape: int) -> Tensor:
        return torch.rand(shape, generator=self.draw, device=self.device)

    def _normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.draw, device=self.device)

    def _choose(self) -> Int64[Tensor, "episodes speakers"]:
        """Choose voices: mostly of one corpus, at times those that resemble one another."""
        config, count = self.config, self.config.episodes
        corpus = torch.multinomial(self.share, count, replacement=True, generator=self.draw)
        within = self._random(count, 1) < config.same_corpus
        foreign = within & (self.corpora[None] != corpus[:, None])
        order = self._random(count, len(self.starts)) + 2 * foreign
        candidates = order.topk(min(CANDIDATES, len(self.starts)), largest=False).indices
        if self.heard is not None:
            near = torch.einsum("ekd,ed->ek", self.heard[candidates], self.heard[candidates[:, 0]])
            near = near - 2 * foreign.gather(1, candidates)
            alike = self._random(count, 1) < config.alike
            usual = -torch.arange(near.shape[1], device=self.device).expand_as(near).float()
            rank = torch.where(alike, near, usual).argsort(dim=1, descending=True)
            candidates = candidates.gather(1, rank)
        return self._of_several_persons(candidates)

    def _of_several_persons(self, candidates: Tensor) -> Int64[Tensor, "episodes speakers"]:
        """Take the first candidates of whom no two may be one person."""
        count, several = candidates.shape
        episode = torch.arange(count, device=self.device)
        rows = torch.arange(several, device=self.device)
        same = (rows == rows[:, None]).expand(count, -1, -1)
        if self.heard is not None:
            heard = self.heard[candidates]
            same = same | (heard @ heard.mT > self.limit[candidates, None])
        taken = torch.zeros(count, several, device=self.device)
        chosen = []
        for _ in range(self.config.speakers):
            first = (rows + several * taken).argmin(dim=1)
            chosen.append(candidates.gather(1, first[:, None]))
            taken = taken + same[episode, first]
        return torch.cat(chosen, dim=1)

    def _plan(self, n: int) -> Plans:
        """The windows of `EpisodeConfig`, as `diarize.training.episodes` plans them."""
        config, count = self.config, self.config.episodes
        alone = config.speakers * config.singles
        several = config.windows - alone
        drawn = self._random(count, several, config.speakers).argsort(dim=-1)[..., :SOURCES]
        ends_of = np.cumsum([config.pairs, config.triples, config.starts])
        drawn[:, : ends_of[0], 2] = -1
        drawn[:, ends_of[1] :, 2] = -1
        single = torch.full((alone, SOURCES), -1, device=self.device)
        single[:, 0] = torch.arange(config.speakers, device=self.device).repeat(config.singles)
        voice = torch.cat([single.expand(count, -1, -1), drawn], dim=1)
        begin = torch.full(voice.shape, -float(FADE), device=self.device)
        end = torch.full(voice.shape, float(n + FADE), device=self.device)
        start, change = alone + ends_of[1], alone + ends_of[2]
        clear, half = clear_of_middle(n), n / 2
        away = clear + self._random(count, config.windows) * (half - clear)
        instant = half + torch.where(self._random(count, config.windows) < 0.5, -away, away)
        comes = self._random(count, change - start) < 0.5
        begin[:, start:change, 1] = torch.where(comes, instant[:, start:change], -float(FADE))
        end[:, start:change, 1] = torch.where(comes, float(n + FADE), instant[:, start:change])
        over = instant[:, change:]
        pause = (self._random(*over.shape) * 0.3 - 0.1) * SAMPLE_RATE
        early = over < half
        then = over + pause
        then = torch.where(early, then.clamp(max=half - clear), then.clamp(min=half + clear))
        end[:, change:, 0], begin[:, change:, 1] = over, then
        silent = self._random(*over.shape) < config.unanswered
        voice[:, change:, 0] = torch.where(silent & early, -1, voice[:, change:, 0])
        voice[:, change:, 1] = torch.where(silent & ~early, -1, voice[:, change:, 1])
        active = (voice >= 0) & (begin < half) & (end > half)
        hot = torch.nn.functional.one_hot(voice.clamp(min=0), config.speakers).bool()
        members = (hot & active[..., None]).any(dim=2)
        is_alone = torch.zeros(voice.shape[:2], dtype=torch.bool, device=self.device)
        is_alone[:, :alone] = True
        return Plans(voice, begin, end, members, is_alone)

    def _render(self, chosen: Tensor, plans: Plans, n: int) -> Float[Tensor, "b samples"]:
        where = (plans.voice >= 0).nonzero()  # (heard, 3): episode, window, source
        local = plans.voice[tuple(where.T)]
        sound = self._sources(chosen, plans, where, local, n)
        return self._with_noise(self._in_rooms(sound, where, local))

    def _sources(
        self, chosen: Tensor, plans: Plans, where: Tensor, local: Tensor, n: int
    ) -> Float[Tensor, "heard samples"]:
        """Stretches of voices, each at a level of its own, while it is heard."""
        speeds = self._factors((min(SPEEDS), max(SPEEDS)), *chosen.shape)
        sound = self._cut(chosen[where[:, 0], local], speeds[where[:, 0], local], n)
        factors = self._factors(FORMANTS, *chosen.shape)
        sound = self._with_formants(sound, factors[where[:, 0], local])
        time_ = torch.arange(n, device=self.device)
        begin, end = (t[tuple(where.T)][:, None] for t in (plans.begin, plans.end))
        slope = ((time_ - begin) / FADE).clamp(0, 1) * ((end - time_) / FADE).clamp(0, 1)
        return sound * slope * self._gains(len(sound))[:, None]

    def _gains(self, heard: int) -> Float[Tensor, " heard"]:
        limit = self.config.acoustics.gain_limit
        decibels = self._normal(heard).mul(self.config.acoustics.gain).clamp(-limit, limit)
        return 10 ** (decibels / 20)

    def _with_noise(self, audio: Float[Tensor, "b samples"]) -> Float[Tensor, "b samples"]:
        acoustics, (b, n) = self.config.acoustics, audio.shape
        power = audio.square().mean(dim=1, keepdim=True).sqrt() + 1e-6
        low, high = acoustics.snr
        snr = low + (high - low) * self._random(b, 1)
        noisy = self._random(b, 1) < acoustics.noisy
        return audio + noisy * power * 10 ** (-snr / 20) * self._noises(b, n)

    def _factors(self, limits: tuple[float, float], *shape: int) -> Tensor:
        low, high = map(math.log, limits)
        other = (low + (high - low) * self._random(*shape)).exp()
        return torch.where(self._random(*shape) < AS_RECORDED, 1.0, other)

    def _cut(self, voice: Tensor, speed: Tensor, n: int) -> Float[Tensor, "heard samples"]:
        """Stretches of voices, played at a speed: cubic interpolation between samples."""
        length = self.ends[voice] - self.starts[voice]
        room = (length - n * speed - 4).clamp(min=0)
        offset = (self._random(len(voice)) * room).floor()
        at = offset[:, None] + torch.arange(n, device=self.device) * speed[:, None]
        whole = at.floor()
        t = at - whole
        index = whole.long()
        start, length = self.starts[voice][:, None], length[:, None]
        a, b, c, d = (self.samples[start + (index + k) % length].float() for k in range(4))
        cubic = b + 0.5 * t * (
            c - a + t * (2 * a - 5 * b + 4 * c - d + t * (3 * (b - c) + d - a))
        )  # Catmull-Rom
        return cubic / FULL_SCALE

    def _with_formants(
        self, sound: Float[Tensor, "heard samples"], factor: Float[Tensor, " heard"]
    ) -> Float[Tensor, "heard samples"]:
        """Move formants, and leave the pitch: what is smooth in a spectrum is stretched."""
        moved = (factor != 1.0).nonzero()[:, 0]
        if not len(moved):
            return sound
        shape = {"n_fft": SPECTRUM, "hop_length": SPECTRUM // 4, "window": self.hann}
        spectra = torch.stft(sound[moved], **shape, return_complex=True)
        power = spectra.abs().square().mT + 1e-8
        cepstrum = torch.fft.irfft(power.log(), SPECTRUM) * self.lifter
        envelope = torch.fft.rfft(cepstrum).real  # (moved, frames, bins)
        bins = torch.arange(envelope.shape[-1], device=self.device)
        at = (bins / factor[moved, None]).clamp(max=bins[-1] - 1e-3)
        low, share = at.long(), (at - at.floor())[:, None]
        frames = envelope.shape[1]
        below, above = (
            envelope.gather(2, (low + k)[:, None].expand(-1, frames, -1)) for k in (0, 1)
        )
        gain = (below + share * (above - below) - envelope).clamp(-4, 4)
        spectra = spectra * (0.5 * gain).exp().mT
        return sound.index_copy(0, moved, torch.istft(spectra, **shape, length=sound.shape[1]))

    def _in_rooms(
        self, sound: Float[Tensor, "heard samples"], where: Tensor, local: Tensor
    ) -> Float[Tensor, "b samples"]:
        """Add the voices of each window, some of them as heard in a room."""
        heard, response = self._rooms_of(where, local)
        n = sound.shape[1]
        if len(heard):
            size = 1 << (n + self.rooms.shape[-1] - 1).bit_length()
            spectra = self._spectra_of_rooms(size)[response]
            through = torch.fft.irfft(torch.fft.rfft(sound[heard], size) * spectra, size)
            sound = sound.index_copy(0, heard, through[:, :n])
        windows = self.config.windows
        audio = torch.zeros(self.config.episodes * windows, n, device=self.device)
        return audio.index_add_(0, where[:, 0] * windows + where[:, 1], sound)

    def _rooms_of(self, where: Tensor, local: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Which sources are heard in a room; each one's room, and its place there.

        Each window is in a room of its own, or an episode in one where voices keep their places.
        """
        acoustics, config = self.config.acoustics, self.config
        count, windows = config.episodes, config.windows
        wet = self._random(count, windows) < acoustics.rooms
        room = (self._random(count, windows) * len(self.rooms)).long()
        one = self._random(count, 1) < acoustics.one_place
        wet = torch.where(one, self._random(count, 1) < acoustics.one_place_rooms, wet)
        room = torch.where(one, room[:, :1], room)
        places = (self._random(count, config.speakers) * SOURCES).long()
        episode, window, source = where.T
        place = torch.where(one[episode, 0], places[episode, local], source)
        heard = wet[episode, window].nonzero()[:, 0]
        return heard, (room[episode, window][heard], place[heard])

    def _spectra_of_rooms(self, size: int) -> Tensor:
        if size not in self._spectra:
            self._spectra[size] = torch.fft.rfft(self.rooms, size)
        return self._spectra[size]

    def _noises(self, b: int, n: int) -> Float[Tensor, "b samples"]:
        """Recorded noise, or made noise whose spectrum falls by a random slope; of unit power."""
        begin = (self._random(b, 1) * (len(self.noise) - n)).long()
        recorded = self.noise[begin + torch.arange(n, device=self.device)].float()
        frequency = torch.fft.rfftfreq(n, 1 / SAMPLE_RATE, device=self.device).clamp(min=50.0)
        shape = frequency ** -self._random(b, 1)
        made = torch.fft.irfft(
            torch.complex(self._normal(*shape.shape), self._normal(*shape.shape)) * shape, n
        )
        noise = torch.where(self._random(b, 1) < MADE, made, recorded)
        return noise / noise.square().mean(dim=1, keepdim=True).sqrt().clamp(min=1e-3)

    def _coded(self, audio: Tensor) -> Tensor:
        """Some episodes over a telephone, some with a narrower band."""
        acoustics, count = self.config.acoustics, self.config.episodes
        coded = self._random(count) < acoustics.coded
        telephone = self._random(count) < acoustics.telephone
        edges = acoustics.edges or [(edge, edge) for edge in TELEPHONE]
        low, high, band = (a + (b - a) * self._random(count) for a, b in (*edges, BANDS))
        lowest = torch.where(telephone, low, 0.0)
        highest = torch.where(telephone, high, band)
        few = telephone & (self._random(count) < 0.7)
        rows = coded.repeat_interleave(self.config.windows).nonzero()[:, 0]
        if not len(rows):  # an FFT of nothing is an error
            return audio
        of = rows // self.config.windows
        n = audio.shape[1]
        f = torch.fft.rfftfreq(n, 1 / SAMPLE_RATE, device=self.device)
        keep = ((f - 0.8 * lowest[of, None]) / 100).clamp(0, 1)
        keep = torch.where(lowest[of, None] > 0, keep, 1.0)
        keep = keep * ((1.05 * highest[of, None] - f) / 200).clamp(0, 1)
        sent = torch.fft.irfft(torch.fft.rfft(audio[rows]) * keep, n)
        peak = 2 * sent.abs().amax(dim=1, keepdim=True).clamp(min=1e-9)
        law = (sent / peak).abs().mul(MU).log1p() / math.log1p(MU)
        law = (law * 127).round() / 127
        quantised = (law * math.log1p(MU)).expm1() / MU * sent.sign() * peak
        return audio.index_copy(0, rows, torch.where(few[of, None], quantised, sent))
