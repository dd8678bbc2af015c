"""Real talk spoken again by other voices: whose turn follows whose is as it was, all else is new.

A turn of a recording's RTTM is filled with speech of the voice that stands for its speaker. Voices
are heard as in a headset mix, by one microphone on a table, close by, or over a telephone. The
truth is where each clean voice has speech.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from jaxtyping import Bool, Float32

from diarize.activity.regions import runs
from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError, require_one_of
from diarize.mixing.acoustics import (
    coloured_noise,
    impulse_response,
    noise_piece,
    root_mean_square,
    through_response,
    unit_power,
)
from diarize.mixing.channel import clipped, few_bits, through_codec, through_telephone
from diarize.mixing.sounds import draw_events
from diarize.mixing.speech import FRAME, active_frames
from diarize.mixing.talk import Talk
from diarize.mixing.voices import LEAST_SPEECH, LOUDNESS, Voices, to_float

SHORTEST_PAUSE = 30  # frames of 10 ms; a shorter silence inside a turn belongs to the turn
FADE = 160  # samples, 10 ms, at both ends of a turn
ONSET = 0.7  # share of turns that begin where a run of speech begins
LOUD_PEAK = 0.3  # of full scale, to which the 99.9th percentile of a recording is brought


KINDS = ("headsets", "table", "close", "telephone")


@dataclass(frozen=True)
class Scene:
    """How a conversation is heard: shares and ranges of what is drawn for each one.

    Attributes:
        kinds: shares of KINDS: a headset mix, one microphone on a table, close ones, a telephone.
        gain: standard deviation of the voices' levels, decibels.
        far: share in which voices lie up to 20 dB apart.
        turn_gain: standard deviation of the levels of a voice's turns, decibels.
        back_channel: how much quieter a turn under a second may be, decibels.
        snr: range of the speech's level over the background's, decibels.
        clean: share without any background.
        babble: share of backgrounds that are many voices.
        events: share with short sounds, and how many a second.
        codec, telephone, clipped, quiet: shares of what happens to the whole.
        same_corpus: share whose voices come from one corpus.
        busy: share of drawn stretches that hold the most overlap of three.
    """

    kinds: tuple[float, float, float, float] = (0.45, 0.27, 0.13, 0.15)
    gain: float = 4.5
    far: float = 0.15
    turn_gain: float = 2.5
    back_channel: float = 10.0
    snr: tuple[float, float] = (5.0, 40.0)
    clean: float = 0.15
    babble: float = 0.1
    events: tuple[float, float] = (0.6, 0.25)
    codec: float = 0.12
    telephone: float = 0.08
    clipped: float = 0.04
    quiet: float = 0.1
    same_corpus: float = 0.5
    busy: float = 0.4

    @classmethod
    def of(cls, kinds: Sequence[str]) -> Scene:
        """A scene of some kinds alone, each as often.

        Raises:
            InputError: a kind that there is not.
        """
        for kind in kinds:
            require_one_of("scene", kind, KINDS)
        headsets, table, close, telephone = (float(kind in kinds) for kind in KINDS)
        n = len(set(kinds))
        return cls(kinds=(headsets / n, table / n, close / n, telephone / n))


@dataclass
class Replay:
    """Replays conversations; what `draw` makes depends on the seed and the number alone.

    Attributes:
        talks: of which stretches are replayed.
        voices: who speaks instead.
        rooms: banks of responses, one for each room.
        noises: recordings of noise at unit power.
        scene: how it is heard.
        seed: of every draw.
    """

    talks: Sequence[Talk]
    voices: Voices
    rooms: Sequence[Float32[np.ndarray, "_ _"]]
    noises: Sequence[Float32[np.ndarray, "_"]] = ()
    scene: Scene = field(default_factory=Scene)
    seed: int = 0

    def __post_init__(self) -> None:
        """Group voices by speaker and corpus.

        Raises:
            InputError: no voice has speech.
        """
        self._speakers: dict[str, list[int]] = {}
        lengths = (self.voices.ends - self.voices.starts).tolist()
        for row, speaker in enumerate(self.voices.speakers.tolist()):
            if lengths[row] >= LEAST_SPEECH * SAMPLE_RATE:
                self._speakers.setdefault(speaker, []).append(row)
        if not self._speakers:
            raise InputError("no speech to replay talk with")
        self._corpus = {s: str(self.voices.corpora[rows[0]]) for s, rows in self._speakers.items()}
        self._active: dict[int, np.ndarray] = {}

    @property
    def n_speakers(self) -> int:
        """How many people there are voices of."""
        return len(self._speakers)

    def draw(
        self, number: int, seconds: float
    ) -> tuple[Float32[np.ndarray, "samples"], Bool[np.ndarray, "speakers frames"]]:
        """Replay a stretch.

        Returns:
            16 kHz samples, and where each voice has speech, in frames of 10 ms.
        """
        rng = np.random.default_rng([self.seed, number])
        talk = self.talks[int(rng.integers(len(self.talks)))]
        begins = rng.uniform(0, max(0.0, talk.seconds - seconds), 3)
        parts = [talk.cut(float(begin), seconds) for begin in begins]
        busiest = max(parts, key=lambda part: part.overlap)
        part = busiest if rng.random() < self.scene.busy else parts[0]
        return self.perform(part, self.choose(part.n_speakers, rng), seconds, rng)

    def choose(self, count: int, rng: np.random.Generator) -> list[int]:
        """Choose voices of so many different speakers, or of all there are."""
        names = rng.permutation(list(self._speakers)).tolist()
        if rng.random() < self.scene.same_corpus:
            corpus = self._corpus[names[0]]
            names.sort(key=lambda name: self._corpus[name] != corpus)
        return [int(rng.choice(self._speakers[name])) for name in names[:count]]

    def perform(
        self, talk: Talk, chosen: Sequence[int], seconds: float, rng: np.random.Generator
    ) -> tuple[Float32[np.ndarray, "samples"], Bool[np.ndarray, "speakers frames"]]:
        """Let chosen voices speak the turns of a talk; as `draw`."""
        n = round(seconds * SAMPLE_RATE)
        tracks = np.zeros((len(chosen), n), np.float32)
        active = np.zeros((len(chosen), n // FRAME), bool)
        for (begin, end), speaker in zip(talk.times, talk.speakers, strict=True):
            if speaker < len(chosen):
                self._speak(tracks[speaker], active[speaker], chosen[speaker], begin, end, rng)
        samples = self._heard(tracks, rng)
        return samples, _without_pauses(active)

    def _speak(
        self,
        track: np.ndarray,
        active: np.ndarray,
        voice: int,
        begin: float,
        end: float,
        rng: np.random.Generator,
    ) -> None:
        """Put one turn into a voice's track, to the frame."""
        first, last = round(begin * 100), min(round(end * 100), len(active))
        if last - first < 5:
            return
        mask = self._activity(voice)
        source = int(self.voices.starts[voice])
        if rng.random() < ONSET:
            onsets = np.flatnonzero(mask & ~np.roll(mask, 1))
            at = int(rng.choice(onsets)) if len(onsets) else 0
        else:
            at = int(rng.integers(len(mask)))
        frames = (at + np.arange(last - first)) % len(mask)  # speech that ends begins again
        decibels = float(rng.normal(0, self.scene.turn_gain))
        if end - begin < 1.0 and rng.random() < 0.6:
            decibels -= float(rng.uniform(0, self.scene.back_channel))
        flat = (frames[:, None] * FRAME + np.arange(FRAME)).ravel() + source
        stretch = to_float(self.voices.samples[flat])
        ramp = np.linspace(0, 1, FADE, dtype=np.float32)
        stretch[:FADE] *= ramp
        stretch[-FADE:] *= ramp[::-1]
        # A voice does not talk over itself: of two turns that meet, the later one goes on.
        track[first * FRAME : last * FRAME] = stretch * np.float32(10 ** (decibels / 20))
        active[first:last] = mask[frames]

    def _activity(self, voice: int) -> np.ndarray:
        if voice not in self._active:
            self._active[voice] = active_frames(self.voices.stretch(voice))
        return self._active[voice]

    def _heard(self, tracks: np.ndarray, rng: np.random.Generator) -> Float32[np.ndarray, "_"]:
        scene, (count, n) = self.scene, tracks.shape
        kind = KINDS[int(rng.choice(len(KINDS), p=scene.kinds))]
        decibels = rng.normal(0, scene.gain, count)
        if rng.random() < scene.far:
            decibels = rng.uniform(-20, 0, count)
        gains = np.float32(10) ** np.asarray(decibels / 20, np.float32)
        tracks = tracks * gains[:, None]
        if kind == "headsets":
            mixed = self._headsets(tracks, rng)
        elif kind == "table":
            mixed = self._table(tracks, rng)
        else:
            mixed = np.zeros(n, np.float32)
            for track in tracks:
                mixed += through_response(track, impulse_response(rng, None, 0.0))
        spoken = max(root_mean_square(mixed), 0.3 * LOUDNESS)
        if rng.random() < scene.events[0]:
            rate = float(rng.uniform(0, 2 * scene.events[1]))
            mixed = mixed + np.float32(spoken) * draw_events(rng, n, rate, self.noises)
        if rng.random() >= scene.clean:
            snr = float(rng.uniform(*scene.snr))
            mixed = mixed + self.background(n, rng) * np.float32(spoken * 10 ** (-snr / 20))
        if kind == "telephone" or rng.random() < scene.telephone:
            mixed = through_telephone(mixed, rng)
        if rng.random() < scene.codec:
            mixed = through_codec(mixed, rng)
        if rng.random() < scene.clipped:
            mixed = clipped(mixed, rng)
        if rng.random() < scene.quiet:
            mixed = few_bits(mixed, rng)
        return mixed.astype(np.float32)

    def _headsets(self, tracks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Each voice by its own close microphone, and by all others across the room."""
        mixed = np.zeros(tracks.shape[1], np.float32)
        room = self.rooms[int(rng.integers(len(self.rooms)))]
        leak = float(10 ** (-rng.uniform(8, 30) / 20))
        for place, track in enumerate(tracks):
            mixed += through_response(track, impulse_response(rng, None, 0.0))
            across = room[place % len(room)]
            mixed += np.float32(leak) * through_response(track, across)
        return mixed

    def _table(self, tracks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One microphone, every voice at its place in one room."""
        mixed = np.zeros(tracks.shape[1], np.float32)
        room = self.rooms[int(rng.integers(len(self.rooms)))]
        first = int(rng.integers(100))
        for place, track in enumerate(tracks):
            mixed += through_response(track, room[(first + place) % len(room)])
        return through_response(mixed, impulse_response(rng, None, 0.0))

    def background(self, n: int, rng: np.random.Generator) -> Float32[np.ndarray, "_"]:
        """A background of unit power."""
        kind = rng.random()
        if kind < self.scene.babble:
            sound = np.zeros(n, np.float32)
            room = self.rooms[int(rng.integers(len(self.rooms)))]
            for voice in self.choose(int(rng.integers(5, 10)), rng):
                speech = self.voices.samples[self.voices.starts[voice] : self.voices.ends[voice]]
                shift = int(rng.integers(len(speech)))
                sound += np.resize(np.roll(speech, -shift), n)
            sound = through_response(sound, room[0])
        elif kind < 0.5 or not self.noises:
            return coloured_noise(rng, n)
        else:
            sound = noise_piece(self.noises, n, rng)
        return unit_power(sound)


def _without_pauses(active: Bool[np.ndarray, "k frames"]) -> Bool[np.ndarray, "k frames"]:
    """Close each voice's pauses that are shorter than SHORTEST_PAUSE."""
    closed = active.copy()
    for row in closed:
        for (_, end), (begin, _) in pairwise(runs(row)):
            if begin - end < SHORTEST_PAUSE:
                row[end:begin] = True
    return closed
