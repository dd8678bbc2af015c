"""Train f and g for minutes on a GPU that does all of it: sound is cut, mixed and heard there, too.

    python recipes/embedding/on_gpu.py pack VOICES OUT --noise DIR... --rooms DIR [--train VOICES]
    python recipes/embedding/on_gpu.py train PACK OUT MODEL... [--minutes 5] [--all]
        [--episodes 24] [--rate 1e-3] [--device cuda]

The usual training makes its windows on the processor, which keeps a GPU waiting. `pack` writes the
voices that such a training collected (`WORK/voices`) as Ogg Opus, with noise and rooms, a few tens
of MB to carry to another machine; of the speakers of all splits it marks those of `train`. `train`
goes on with models side by side, each in a process of its own, on windows that one more process
renders for all of them, as `go_on.py` does with one, and writes them to OUT under their names. The
episodes are the same (`EpisodeConfig`) but for three things: a speaker is another voice by being
played at any speed from 0.8 to 1.25, with formants up to an eighth higher or lower than his, not by
Praat; a lossy codec is a limit on the band; GSM is mu-law. It stops by the clock, by which the rate
falls. `narrow.py` and `channels.py` read a pack as well.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from itertools import count, pairwise
from multiprocessing import Queue
from pathlib import Path

import numpy as np
import soundfile
import torch
from go_on import APART, RATE, USUAL, cropped, going_on
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from diarize.audio import SAMPLE_RATE
from diarize.embedding import load_model, save_model
from diarize.features import GAIN, torch_mfcc
from diarize.mixing.acoustics import noises_of
from diarize.mixing.channel import BLOCK, TELEPHONE
from diarize.mixing.voices import FULL_SCALE, SPEEDS, UNNAMED, Voices
from diarize.storage.files import atomic_output
from diarize.training.episodes import ONE_PERSON, TOO_ALIKE, Batch, EpisodeConfig, clear_of_middle
from diarize.training.loop import LoopConfig, Trainer
from diarize.training.rendering import FADE, LEVEL, SOURCES, training_rooms

RATES = {"speech": 20_000, "noise": 12_000}  # bits a second
KEPT = 80  # rooms
CANDIDATES = 40  # voices among which an episode chooses those that are alike
AS_RECORDED = 0.4  # share of an episode's voices that are played at their own speed
FORMANTS = (0.88, 1.14)  # factors on their frequencies, at the pitch that a voice has
SPECTRUM, ENVELOPE = 512, 32  # samples: of a spectrum, and of the cepstrum that is its envelope
BANDS = (3_500.0, 7_500.0)  # Hz above which a codec keeps nothing
MU = 255.0
CHECKPOINT = 60.0  # seconds between two files of weights
READERS = 16
AHEAD = 8  # batches that wait for a model
USES, RECENT = 2, 256  # of a batch, at most in the mean; and those that may be used again


def pack(
    voices: Voices,
    folder: Path,
    noises: Sequence[np.ndarray],
    rooms: np.ndarray,
    train: Sequence[str] | None = None,
) -> None:
    """Write what `train` reads: each speaker at his own speed, noise at half of full scale.

    Speech is written last: with it, there is a pack.
    """
    first = np.unique(voices.speakers, return_index=True)[1]  # played as recorded
    own = voices[np.sort(first)]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "speech.opus").unlink(missing_ok=True)
    stretches = [np.asarray(own.stretch(v)) for v in range(len(own))]
    _write(folder, "noise", [0.05 * noise for noise in noises])
    lengths = np.cumsum([0, *map(len, stretches)])
    corpora = np.unique(own.corpora, return_inverse=True)[1]
    unnamed = own.corpora == UNNAMED
    table = {"starts": lengths[:-1], "ends": lengths[1:], "corpora": corpora, "unnamed": unnamed}
    table["train"] = unnamed | np.isin(own.speakers, own.speakers if train is None else train)
    if own.heard is not None:
        table["heard"] = own.heard.astype(np.float16)
    np.savez(folder / "table.npz", allow_pickle=False, **table)
    kept = np.random.default_rng(0).permutation(len(rooms))[:KEPT]
    np.save(folder / "rooms.npy", rooms[kept].astype(np.float16))
    _write(folder, "speech", stretches)


def joined(batches: Sequence[Batch]) -> Batch:
    """All episodes of some batches."""
    names = [field.name for field in fields(Batch)]
    return Batch(**{name: torch.cat([getattr(one, name) for one in batches]) for name in names})


def is_pack(folder: Path) -> bool:
    """Whether `pack` wrote it, to the end."""
    return (folder / "speech.opus").exists()


def _write(folder: Path, name: str, pieces: Sequence[np.ndarray]) -> None:
    level = 1 - RATES[name] / 256_000
    (folder / f"{name}.npy").unlink(missing_ok=True)  # what was read of an earlier pack
    samples = np.concatenate(pieces)
    with (
        atomic_output(folder / f"{name}.opus") as out,
        soundfile.SoundFile(
            out, "w", SAMPLE_RATE, 1, "OPUS", format="OGG", compression_level=level
        ) as file,
    ):
        for begin in range(0, len(samples), BLOCK):
            file.write(samples[begin : begin + BLOCK])


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
        self.samples = _read(folder / "speech.opus", device)
        self.noise = _read(folder / "noise.opus", device)
        self.rooms = torch.from_numpy(np.load(folder / "rooms.npy")).float().to(device)
        with np.load(folder / "table.npz") as table:
            chosen = table["train"] | of_all
            columns = {k: torch.from_numpy(table[k][chosen]).to(device) for k in table.files}
        self.starts, self.ends = columns["starts"], columns["ends"]
        self.corpora = columns["corpora"]
        self.limit = torch.where(columns["unnamed"], TOO_ALIKE, ONE_PERSON)
        self.heard = columns["heard"].float() if "heard" in columns else None
        self.share = torch.bincount(self.corpora).float().sqrt()
        self.mfcc = torch_mfcc(device)
        self.hann = torch.hann_window(SPECTRUM, device=device)
        self.lifter = torch.zeros(SPECTRUM, device=device)
        self.lifter[:ENVELOPE] = 1.0
        self.lifter[1 - ENVELOPE :] = 1.0
        again = int(np.random.SeedSequence([seed, step]).generate_state(1)[0])
        self.draw = torch.Generator(device).manual_seed(again if step else seed)
        self.lengths = np.random.default_rng([seed, 9, step])
        self._spectra: dict[int, Tensor] = {}

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
        acoustics, count = self.config.acoustics, self.config.episodes
        where = (plans.voice >= 0).nonzero()  # (heard, 3)
        episode, window, source = where.T
        local = plans.voice[episode, window, source]
        speeds = self._factors((min(SPEEDS), max(SPEEDS)), *chosen.shape)
        sound = self._cut(chosen[episode, local], speeds[episode, local], n)
        factors = self._factors(FORMANTS, *chosen.shape)
        sound = self._with_formants(sound, factors[episode, local])
        decibels = self._normal(len(sound)).mul(acoustics.gain)
        decibels = decibels.clamp(-acoustics.gain_limit, acoustics.gain_limit)
        time_ = torch.arange(n, device=self.device)
        begin, end = (t[episode, window, source, None] for t in (plans.begin, plans.end))
        slope = ((time_ - begin) / FADE).clamp(0, 1) * ((end - time_) / FADE).clamp(0, 1)
        sound = sound * slope * (10 ** (decibels / 20))[:, None]
        sound = self._in_rooms(sound, where, local)
        b = count * self.config.windows
        row = episode * self.config.windows + window
        audio = torch.zeros(b, n, device=self.device).index_add_(0, row, sound)
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

    def _in_rooms(self, sound: Tensor, where: Tensor, local: Tensor) -> Tensor:
        """Each window in a room of its own, or an episode in one where voices keep their places."""
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
        if not len(heard):
            return sound
        n = sound.shape[1]
        size = 1 << (n + self.rooms.shape[-1] - 1).bit_length()
        if size not in self._spectra:
            self._spectra[size] = torch.fft.rfft(self.rooms, size)
        response = self._spectra[size][room[episode, window][heard], place[heard]]
        through = torch.fft.irfft(torch.fft.rfft(sound[heard], size) * response, size)
        return sound.index_copy(0, heard, through[:, :n])

    def _noises(self, b: int, n: int) -> Float[Tensor, "b samples"]:
        """Recorded noise, or made noise whose spectrum falls by a random slope; of unit power."""
        begin = (self._random(b, 1) * (len(self.noise) - n)).long()
        recorded = self.noise[begin + torch.arange(n, device=self.device)].float()
        frequency = torch.fft.rfftfreq(n, 1 / SAMPLE_RATE, device=self.device).clamp(min=50.0)
        shape = frequency ** -self._random(b, 1)
        made = torch.fft.irfft(
            torch.complex(self._normal(*shape.shape), self._normal(*shape.shape)) * shape, n
        )
        noise = torch.where(self._random(b, 1) < 0.3, made, recorded)
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


def _read(path: Path, device: str) -> Tensor:
    """Several readers, each with a part of its own; what they read is kept."""
    kept = path.with_suffix(".npy")
    if kept.exists():
        return torch.from_numpy(np.load(kept)).to(device)
    whole = soundfile.info(path).frames
    edges = np.linspace(0, whole, READERS + 1).astype(int).tolist()

    def part(edge: tuple[int, int]) -> np.ndarray:
        begin, end = edge
        return soundfile.read(path, frames=end - begin, start=begin, dtype="int16")[0]

    with ThreadPoolExecutor(READERS) as readers:
        parts = list(readers.map(part, pairwise(edges)))
    samples = np.concatenate(parts)
    with atomic_output(kept) as file:
        np.save(file, samples)
    return torch.from_numpy(samples).to(device)


def render(told: argparse.Namespace, queues: Sequence[Queue]) -> None:
    """Make batches for all models, a process that goes on until it is ended."""
    usual, apart = (EpisodeConfig(told.episodes, acoustics=sound) for sound in (USUAL, APART))
    episodes = Episodes(told.pack, usual, told.device, told.seed, told.all)
    for number in count():
        episodes.config = (usual, apart)[number % 2]
        batch = episodes.batch()
        batch = replace(batch, features=batch.features.half()).to("cpu")
        for queue in queues:
            queue.put(batch)


def learn(told: argparse.Namespace, name: str, queue: Queue) -> None:
    """Take steps with one model until the time is over, a process of its own."""
    torch.manual_seed(told.seed)
    torch.set_num_threads(1)
    config = LoopConfig(rate=told.rate, warmup=told.warmup)
    trainer = going_on(Timed, load_model(name), config, told.device)
    rng = np.random.default_rng([told.seed, 5])
    batch = queue.get().to(told.device)
    made, recent = 1, deque([batch], maxlen=RECENT)
    began = shown = time.monotonic()
    losses: list[float] = []
    while True:
        now = time.monotonic()
        trainer.over = (now - began) / (60 * told.minutes)
        batch = cropped(batch, rng)
        batch = replace(batch, features=batch.features.float())
        losses.append(trainer.advance(batch)["windows"])
        if now >= shown + CHECKPOINT or trainer.over >= 1:
            mean, shown, losses = np.mean(losses), now, []
            took = f"{now - began:5.0f} s {trainer.step:6d} steps of {made:6d} batches"
            print(f"{Path(name).stem} {took} {mean:.4f}", flush=True)
            save_model(trainer.finished(), told.out / Path(name).name)
        if trainer.over >= 1:
            return
        if trainer.step >= USES * made or not queue.empty():
            batch = queue.get().to(told.device)
            recent.append(batch)
            made += 1
        else:
            batch = recent[int(rng.integers(len(recent)))]


def train(told: argparse.Namespace) -> None:
    """One process renders for all models, which learn in one process each."""
    told.out.mkdir(parents=True, exist_ok=True)
    context = torch.multiprocessing.get_context("spawn")
    queues = [context.Queue(AHEAD) for _ in told.models]
    renderer = context.Process(target=render, args=(told, queues), daemon=True)
    learners = [
        context.Process(target=learn, args=(told, *each), daemon=True)
        for each in zip(told.models, queues, strict=True)
    ]
    for process in (renderer, *learners):
        process.start()
    while any(learner.is_alive() for learner in learners):
        time.sleep(0.5)
        if not renderer.is_alive() or any(learner.exitcode for learner in learners):
            sys.exit("a process ended before its time")
    renderer.terminate()


class Timed(Trainer):
    """The rate rises for `warmup` steps and falls over the last three fifths of the time."""

    over = 0.0

    def rate(self, step: int) -> float:
        """By the clock."""
        up = min(1.0, (step + 1) / max(1, self.config.warmup))
        return self.config.rate * up * max(0.0, min(1.0, (1 - self.over) / 0.6))


def main() -> None:
    """Do what is told."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    packing = commands.add_parser("pack")
    packing.add_argument("voices", type=Path)
    packing.add_argument("out", type=Path)
    packing.add_argument("--noise", type=Path, nargs="*", default=[])
    packing.add_argument("--rooms", type=Path)
    packing.add_argument("--seed", type=int, default=0)
    packing.add_argument("--train", type=Path)
    training = commands.add_parser("train")
    training.add_argument("pack", type=Path)
    training.add_argument("out", type=Path)
    training.add_argument("models", nargs="+")
    training.add_argument("--all", action="store_true")
    training.add_argument("--device", default="cuda")
    training.add_argument("--minutes", type=float, default=5.0)
    training.add_argument("--rate", type=float, default=RATE)
    for name, value in (("episodes", 24), ("warmup", 200), ("seed", 0)):
        training.add_argument(f"--{name}", type=int, default=value)
    told = parser.parse_args()
    if told.command == "train":
        train(told)
    else:
        rooms = training_rooms(told.rooms, told.seed)
        known = None if told.train is None else Voices.load(told.train).speakers
        pack(Voices.load(told.voices), told.out, noises_of(told.noise), rooms, known)


if __name__ == "__main__":
    main()
