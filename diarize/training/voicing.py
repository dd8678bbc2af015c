"""Whether it is a voice that is heard: the network's last answer, learned when all else has been.

Instruments and machines sound to it like vowels, but what it makes of them inside tells them from
voices. So this answer is a logistic regression from there, of voices in rooms, half of them large
or far, and of music that is made up, where the network hears speech in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float32

from diarize.activity.counter import VoiceCounter
from diarize.activity.spectra import INSTANT_SAMPLES
from diarize.audio import SAMPLE_RATE
from diarize.mixing.acoustics import DIRECT
from diarize.mixing.music import draw_music
from diarize.mixing.recorded import Surroundings
from diarize.mixing.replay import Replay, Scene
from diarize.progress import Hook
from diarize.training.chunks import Source, render_shard
from diarize.training.counting import as_batch

SEED = 1  # added to that of the talk that was learned from
ROWS = 32  # chunks that are rendered and heard at a time
SPEECH = 0.4  # probability from which on the network hears speech in music
KEPT = 0.2  # share of the instants that are learned from
EARLY = 800  # samples, 50 ms, after which sound of a room is late
FAR = Scene(kinds=(0.1, 0.9, 0.0, 0.0), snr=(8.0, 35.0), clean=0.1)
AROUND_MUSIC = Surroundings(placed=0.6, coloured=0.4, noisy=0.6, snr=(5.0, 40.0), coded=0.08)
PENALTY = 0.05  # of the regression: the variance of its weights, where what is heard has one of 1

Rows = Float32[np.ndarray, "rows twice"]


@dataclass(frozen=True)
class MusicSource(Source):
    """Draws chunks in which nobody speaks, in the rooms and noises of `replay`."""

    def draw(self, number: int, seconds: float) -> tuple[np.ndarray, np.ndarray]:
        """As `Source.draw`."""
        rng = np.random.default_rng([self.replay.seed, 9, number])
        instants = round(seconds * SAMPLE_RATE) // INSTANT_SAMPLES
        sound = draw_music(rng, instants * INSTANT_SAMPLES)
        sound = AROUND_MUSIC.around(sound, self.replay, rng)
        return sound.astype(np.float32), np.zeros(instants, np.uint8)


def fit_voice(
    counter: VoiceCounter,
    replay: Replay,
    chunks: int,
    seconds: float,
    hook: Hook | None = None,
) -> None:
    """Fit the answer `voiced` of a network whose other answers stay as they are.

    Where music is nowhere taken for speech, there is nothing to learn, and it stays as it is.

    Args:
        counter: on the CPU.
        replay: talk that voices are taken from.
        chunks: of music, and as many of talk.
        seconds: of a chunk.
        hook: progress, `hook("voicing", done, total)` in chunks.
    """
    from sklearn.linear_model import LogisticRegression

    replay = replace(replay, seed=replay.seed + SEED)
    far = replace(replay, rooms=_late(replay.rooms), scene=FAR)
    sources = [MusicSource(replay), Source(far), MusicSource(replay), Source(replay)]
    rows: list[Rows] = []
    is_voice: list[Bool[np.ndarray, " rows"]] = []
    for first in range(0, 2 * chunks, ROWS):
        source = sources[first // ROWS % len(sources)]
        count = min(ROWS, 2 * chunks - first)
        heard, right = _listen(counter, source, first, count, seconds)
        rows.append(heard)
        is_voice.append(right)
        if hook:
            hook("voicing", first + count, 2 * chunks)
    x, y = np.concatenate(rows), np.concatenate(is_voice)
    if y.all() or not y.any():
        return
    mean, deviation = x.mean(axis=0), x.std(axis=0) + 1e-3
    fitted = LogisticRegression(C=PENALTY, max_iter=500, class_weight="balanced")
    fitted.fit((x - mean) / deviation, y)
    weight = fitted.coef_[0] / deviation
    with torch.no_grad():
        counter.voice.weight.copy_(torch.from_numpy(weight[None]))
        counter.voice.bias.copy_(torch.from_numpy(fitted.intercept_ - weight @ mean))


@torch.inference_mode()
def _listen(
    counter: VoiceCounter, source: Source, first: int, count: int, seconds: float
) -> tuple[Rows, Bool[np.ndarray, " rows"]]:
    """What the network makes of some steps of chunks, and which of them hold voices."""
    shard = render_shard(source, first, count, seconds)
    batch = as_batch(shard, counter.config)
    heard = counter.hear(batch.spectra, batch.hints)  # (b, steps, 2 * hidden)
    silent = counter.count(heard).softmax(dim=-1)[..., 0].numpy()
    stack, steps = counter.config.stack, heard.shape[1]
    speech = 1 - silent.reshape(count, steps, stack).mean(axis=2)
    spoken = shard.voices[:, : steps * stack].reshape(count, steps, stack) > 0
    music = isinstance(source, MusicSource)
    learned = (speech > SPEECH) & (spoken.all(axis=2) | music)
    learned &= np.random.default_rng([source.replay.seed, 10, first]).random(learned.shape) < KEPT
    rows = heard.numpy()[learned]
    return rows, np.full(len(rows), not music)


def _late(rooms: Sequence[Float32[np.ndarray, "_ _"]]) -> list[Float32[np.ndarray, "_ _"]]:
    """The half of the rooms in which most of the sound is late."""

    def late(room: Float32[np.ndarray, "_ _"]) -> float:
        power = np.square(room[0], dtype=np.float64)
        return float(power[DIRECT + EARLY :].sum() / power[: DIRECT + EARLY].sum())

    return sorted(rooms, key=late)[len(rooms) // 2 :]
