"""Conversations out of single-speaker speech: turns, pauses, barge-ins, a room, noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float32

from diarize.activity.regions import runs
from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.formats.turns import Turn, annotated
from diarize.mixing.acoustics import (
    DIRECT_TO_REVERBERANT_DB,
    REVERBERATION,
    coloured_noise,
    impulse_response,
    noise_piece,
    root_mean_square,
    through_response,
)
from diarize.mixing.speech import FRAME, active_frames
from diarize.mixing.voices import LOUDNESS

if TYPE_CHECKING:
    from pyannote.core import Annotation

FRAMES = SAMPLE_RATE // FRAME  # a second
SHORTEST_PAUSE = 0.3  # seconds; a shorter silence inside a turn belongs to the turn
TURN_SECONDS = (3.0, 0.7)  # median and spread (of the logarithm) of how long a speaker goes on
BACK_CHANNEL_SECONDS = (0.3, 0.9)
SHORTEST_PIECE = 0.25  # seconds of speech below which the rest of an utterance is left unused
LATE = (
    0.5  # seconds, and half of the wanted length, by which a turn may miss its length for a pause
)


@dataclass(frozen=True)
class ConversationConfig:
    """What a simulated conversation is like.

    Attributes:
        seconds: length of the recording, about; less when the speakers run out of speech.
        overlap: share of the speech time in which two speak.
        gain: standard deviation of the speakers' levels, decibels.
        room: share of conversations heard through a room and its microphone.
        snr: range of the speech's level over the noise's, decibels; None: no noise.
        level: range of the level of the whole, decibels of full scale.
    """

    seconds: float = 60.0
    overlap: float = 0.08
    gain: float = 2.5
    room: float = 0.7
    snr: tuple[float, float] | None = (10.0, 35.0)
    level: tuple[float, float] = (-38.0, -20.0)


class Supply:
    """One speaker's speech, given out piece by piece and never twice."""

    def __init__(self, utterances: Sequence[Float32[np.ndarray, "_"]]) -> None:
        self._rest: list[tuple[np.ndarray, np.ndarray]] = []
        for samples in utterances:
            active = active_frames(samples)
            if active.any():
                rms = np.sqrt(np.square(samples, dtype=np.float64).mean() / active.mean())
                self._rest.append((samples * np.float32(LOUDNESS / rms), active))

    @property
    def seconds(self) -> float:
        """Speech that is left."""
        return sum(int(active.sum()) for _, active in self._rest) / FRAMES

    def take(self, seconds: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Give about `seconds` of speech that end in a pause where there is one near.

        Returns:
            Samples and which of their frames hold speech, both beginning and ending with speech;
            None when there is no speech left.
        """
        while self._rest:
            samples, active = self._rest.pop(0)
            first = int(np.argmax(active))
            if active[first:].sum() < SHORTEST_PIECE * FRAMES:
                continue
            stop = _pause_near(active, first, round(seconds * FRAMES))
            if active[stop:].any():
                self._rest.insert(0, (samples[stop * FRAME :], active[stop:]))
            last = stop - int(np.argmax(active[first:stop][::-1]))
            return samples[first * FRAME : last * FRAME], active[first:last]
        return None


def _pause_near(active: Bool[np.ndarray, "frames"], first: int, length: int) -> int:
    """Find the middle of a pause near `first + length`, or the end; else stop right there."""
    edges = np.diff(np.concatenate([[1], active[first:].astype(int), [1]]))
    begins, ends = np.flatnonzero(edges < 0) + first, np.flatnonzero(edges > 0) + first
    long = (ends - begins >= 8) & (begins > first + 20)
    stops = np.append((begins[long] + ends[long]) // 2, len(active))
    nearest = int(stops[np.argmin(np.abs(stops - (first + length)))])
    if abs(nearest - first - length) > length / 2 + LATE * FRAMES:
        return min(first + length, len(active))
    return nearest


@dataclass(frozen=True)
class _Turn:
    speaker: str
    begin: int  # frame of the recording
    samples: np.ndarray
    active: np.ndarray

    @property
    def end(self) -> int:
        return self.begin + len(self.active)


def simulate_conversation(
    speakers: Mapping[str, Sequence[Float32[np.ndarray, "_"]]],
    config: ConversationConfig,
    rng: np.random.Generator,
    noises: Sequence[Float32[np.ndarray, "_"]] = (),
    uri: str = "conversation",
) -> tuple[Float32[np.ndarray, "samples"], Annotation]:
    """Let speakers talk to each other, each with utterances at 16 kHz.

    No speech is used twice, so it bounds the length. Without `noises`, coloured noise is drawn.

    Returns:
        The recording and who speaks when in it, by the energy of each clean voice.

    Raises:
        InputError: fewer than one speaker with speech.
    """
    supplies = {name: Supply(utterances) for name, utterances in speakers.items()}
    turns = _take_turns(supplies, config, rng)
    if not turns:
        raise InputError("no speech to make a conversation of")
    frames = max(turn.end for turn in turns) + round(rng.uniform(0.3, 1.0) * FRAMES)
    audio = _record(turns, frames * FRAME, config, rng, noises)
    return audio, _reference(turns, uri)


def _take_turns(
    supplies: Mapping[str, Supply], config: ConversationConfig, rng: np.random.Generator
) -> list[_Turn]:
    """Lay turns one after another until time or speech is used up."""
    turns: list[_Turn] = []
    free = dict.fromkeys(supplies, 0)  # the frame from which each speaker may speak again
    total = round(config.seconds * FRAMES)
    speech = overlapped = 0
    now = round(rng.uniform(0.2, 1.0) * FRAMES)
    holder = ""
    while now < total - FRAMES // 2:
        able = [name for name, supply in supplies.items() if supply.seconds > SHORTEST_PIECE]
        others = [name for name in able if name != holder]
        if not able:
            break
        if not others or (rng.random() < 0.15 and holder in able):
            chosen = holder if holder in able else able[0]
        else:
            # Who has more left to say speaks sooner, so that all are heard.
            weight = np.array([supplies[name].seconds for name in others])
            chosen = str(rng.choice(others, p=weight / weight.sum()))
        median, spread = TURN_SECONDS
        wanted = float(np.clip(rng.lognormal(np.log(median), spread), 0.5, 12.0))
        piece = supplies[chosen].take(min(wanted, (total - now) / FRAMES))
        if piece is None:
            continue
        samples, active = piece
        begin = max(now, free[chosen])
        if turns and chosen != holder and overlapped < config.overlap * speech:
            previous = turns[-1]
            shared = round(rng.uniform(0.4, 2.0) * FRAMES)
            earliest = max(previous.begin + FRAMES // 2, free[chosen])
            begin = max(earliest, previous.end - min(shared, len(active) - 20))
        turn = _Turn(chosen, begin, samples, active)
        turns.append(turn)
        speech += int(active.sum())
        overlapped += sum(_shared(turn, other) for other in turns[-4:-1])
        free[chosen] = turn.end
        holder = chosen
        if (
            overlapped < config.overlap * speech
            and len(active) > 2 * FRAMES
            and rng.random() < 0.35
        ):
            answer = _back_channel(turn, supplies, free, rng)
            if answer:
                turns.append(answer)
                free[answer.speaker] = answer.end
                overlapped += _shared(answer, turn)
                turns[-2:] = [answer, turn]  # the turn that is held stays last
        pause = rng.uniform(0.6, 2.0) if rng.random() < 0.15 else rng.uniform(0.05, 0.6)
        now = max(t.end for t in turns[-2:]) + round(pause * FRAMES)
    return turns


def _back_channel(
    turn: _Turn, supplies: Mapping[str, Supply], free: Mapping[str, int], rng: np.random.Generator
) -> _Turn | None:
    """Let a listener say a word in the midst of a long turn."""
    listeners = [
        name
        for name, supply in supplies.items()
        if name != turn.speaker and free[name] < turn.begin + 50 and supply.seconds > 2.0
    ]
    if not listeners:
        return None
    name = str(rng.choice(listeners))
    piece = supplies[name].take(float(rng.uniform(*BACK_CHANNEL_SECONDS)))
    if piece is None or len(piece[1]) > len(turn.active) - 100:
        return None
    begin = turn.begin + int(rng.integers(50, len(turn.active) - len(piece[1]) - 49))
    return _Turn(name, begin, *piece)


def _shared(turn: _Turn, other: _Turn) -> int:
    """Count the frames in which both speak."""
    begin, end = max(turn.begin, other.begin), min(turn.end, other.end)
    if end <= begin:
        return 0
    mine = turn.active[begin - turn.begin : end - turn.begin]
    theirs = other.active[begin - other.begin : end - other.begin]
    return int((mine & theirs).sum())


def _record(
    turns: Sequence[_Turn],
    length: int,
    config: ConversationConfig,
    rng: np.random.Generator,
    noises: Sequence[np.ndarray],
) -> Float32[np.ndarray, "samples"]:
    """Add up the speakers as one microphone hears them."""
    room = float(rng.uniform(*REVERBERATION)) if rng.random() < config.room else None
    audio = np.zeros(length, np.float32)
    for name in sorted({turn.speaker for turn in turns}):
        track = np.zeros(length, np.float32)
        for turn in turns:
            if turn.speaker == name:
                begin = turn.begin * FRAME
                track[begin : begin + len(turn.samples)] += turn.samples
        if room is not None:
            distance = float(rng.uniform(*DIRECT_TO_REVERBERANT_DB))
            response = impulse_response(rng, room, distance)
            track = through_response(track, response)
        audio += track * np.float32(10 ** (rng.normal(0, config.gain) / 20))
    if config.snr is not None:
        noise = noise_piece(noises, length, rng) if noises else coloured_noise(rng, length)
        audio += noise * np.float32(LOUDNESS * 10 ** (-rng.uniform(*config.snr) / 20))
    level = 10 ** (rng.uniform(*config.level) / 20) / max(root_mean_square(audio), 1e-9)
    peak = float(np.abs(audio).max())
    return audio * np.float32(min(level, 0.99 / max(peak, 1e-9)))


def _reference(turns: Sequence[_Turn], uri: str) -> Annotation:
    spoken = (
        Turn(begin / FRAMES, end / FRAMES, turn.speaker)
        for turn in turns
        for begin, end in (runs(turn.active) + turn.begin).tolist()
    )
    return annotated(spoken, uri)[0].support(SHORTEST_PAUSE)
