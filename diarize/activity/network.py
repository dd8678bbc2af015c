"""Our own ears: how many voices there are at each instant, and with that where there is speech."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Float32, Float64
from scipy.ndimage import maximum_filter1d

from diarize.activity.counter import MOST, CounterConfig, VoiceCounter
from diarize.activity.counts import INSTANT, Heard, VoiceCounts
from diarize.activity.level import CHUNK, as_chunks, measure_gain
from diarize.activity.regions import clip_regions
from diarize.activity.silero import SileroNetwork
from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.features import N_FFT, N_MELS, STEP, log_mel
from diarize.storage.cache import version_of
from diarize.storage.files import atomic_output
from diarize.storage.weights import models_folder, require_whole, sealed

if TYPE_CHECKING:
    from diarize.activity.counts import Hook
    from diarize.audio import Recording

ACTIVITY_STEP = "activity"  # the name under which progress is told
CONFIG = "diarize.activity"  # key of the header under which the configuration stands
DEFAULT_COUNTER = "voice-counter"
STEP_SAMPLES = 4 * STEP  # of one step of the network, 40 ms
STEP_SECONDS = STEP_SAMPLES / SAMPLE_RATE
WHOLE_STEPS = 4  # steps that five chunks of silero-vad cover, no more and no less
SPAN = 1536  # steps, 61 s, that are answered at a time
CONTEXT = 100  # steps, 4 s, heard on either side of them
ROWS = 8  # spans that the network hears at once
HYSTERESIS = 2 / 3  # of the probability with which speech begins; under that it ends
LEAST_ODDS = 1e-3  # probability of silero-vad below which nothing is told apart
ODDS_SCALE = 4.0  # brings log-odds to the order of one
# Where silero-vad hears no speech for a second before and after, there is none: it has heard far
# more music and noise than this network.
NEAR = 50  # instants of 20 ms
LEAST_HINT = math.log(0.25 / 0.75) / ODDS_SCALE  # a probability of a quarter
NOBODY = np.array([1.0, 0.0, 0.0, 0.0], np.float32)


class LogMelStream:
    """Log-mel bands of sound that comes in pieces: frame t is centred on 10 t + 5 ms."""

    def __init__(self) -> None:
        self._rest = np.zeros((N_FFT - STEP) // 2, np.float32)

    def push(self, samples: Float32[np.ndarray, "samples"]) -> Float32[np.ndarray, "frames 64"]:
        """Take the samples that follow those of the last call; give the frames they complete."""
        self._rest = np.concatenate([self._rest, samples])
        frames = log_mel(self._rest)
        self._rest = self._rest[len(frames) * STEP :]
        return frames

    def finish(self) -> Float32[np.ndarray, "frames 64"]:
        """There is no more sound: silence follows."""
        return self.push(np.zeros((N_FFT - STEP) // 2, np.float32))


def hints_of(
    probabilities: Float32[np.ndarray, "*batch n"], first: int, steps: int
) -> Float32[np.ndarray, "*batch steps 2"]:
    """What silero-vad says of both halves of steps, as log-odds of the order of one.

    Args:
        probabilities: of its chunks, from the first one on.
        first: number of the first step that is asked for.
        steps: how many are; after the last chunk, its word holds.
    """
    middles = (2 * first + np.arange(2 * steps) + 0.5) * (STEP_SAMPLES / 2)
    at = np.minimum((middles / CHUNK).astype(np.int64), probabilities.shape[-1] - 1)
    odds = np.clip(probabilities[..., at], LEAST_ODDS, 1 - LEAST_ODDS)
    logits = np.log(odds / (1 - odds)) / ODDS_SCALE
    return logits.reshape(*probabilities.shape[:-1], steps, 2).astype(np.float32)


class SlidingCounter:
    """Counts voices in sound that comes in pieces; hears what lies before and after an answer.

    Args:
        counter: the network.
        span: steps that are answered at a time, whatever the sizes of the pieces; None: all whose
            look-ahead has come.
        before, after: steps that are heard on either side of them.
        rows: spans that are answered at once.
    """

    def __init__(
        self, counter: VoiceCounter, span: int | None, before: int, after: int, rows: int = 1
    ) -> None:
        self._counter = counter
        self._span, self._before, self._after, self._rows = span, before, after, rows
        self._frames = np.zeros((0, N_MELS), np.float32)
        self._speech = np.zeros(0, np.float32)  # probabilities of silero-vad
        self._first = 0  # step of the first frame that is held
        self._spoken = 0  # step with which the first of these probabilities begins
        self._answered = 0  # steps

    def push(
        self, frames: Float32[np.ndarray, "n 64"], speech: Float32[np.ndarray, "chunks"]
    ) -> Float32[np.ndarray, "answers 4"]:
        """Take in log-mel frames and silero-vad's probabilities that follow the last ones."""
        self._frames = np.concatenate([self._frames, frames])
        self._speech = np.concatenate([self._speech, speech])
        return self._answer(self._rows)

    def finish(self) -> Float32[np.ndarray, "answers 4"]:
        """There is no more sound: answer what is left."""
        stack = self._counter.config.stack
        if missing := -len(self._frames) % stack:
            last = self._frames[-1:] if len(self._frames) else np.zeros((1, N_MELS), np.float32)
            self._frames = np.concatenate([self._frames, np.repeat(last, missing, axis=0)])
        found = [self._answer(1)]
        end = self._end()
        if self._answered < end:
            found.append(self._hear([(self._answered, end)], end))
            self._answered = end
        return np.concatenate(found)

    def _end(self) -> int:
        """Steps whose frames have come."""
        return self._first + len(self._frames) // self._counter.config.stack

    def _answer(self, least: int) -> Float32[np.ndarray, "answers 4"]:
        """Answer whole spans, at least so many at a time."""
        known = min(self._end(), self._spoken + len(self._speech) * CHUNK // STEP_SAMPLES)
        span = self._span or max(1, known - self._after - self._answered)
        ready = (known - self._after - self._answered) // span
        found = [np.zeros((0, MOST + 1), np.float32)]
        while ready >= least:
            count = min(ready, self._rows)
            spans = [
                (self._answered + i * span, self._answered + (i + 1) * span) for i in range(count)
            ]
            found.append(self._hear(spans, known))
            self._answered = spans[-1][1]
            ready -= count
        self._forget()
        return np.concatenate(found)

    def _hear(self, spans: list[tuple[int, int]], known: int) -> Float32[np.ndarray, "answers 4"]:
        answers = []
        heard = [(max(0, a - self._before), min(known, b + self._after)) for a, b in spans]
        lengths = {b - a for a, b in heard}
        for length in sorted(lengths, reverse=True):
            own = [i for i, (a, b) in enumerate(heard) if b - a == length]
            logits = self._ask([heard[i] for i in own])
            each = self._counter.config.answers
            for row, i in zip(logits, own, strict=True):
                begin = (spans[i][0] - heard[i][0]) * each
                answers.append((i, row[begin : begin + (spans[i][1] - spans[i][0]) * each]))
        return np.concatenate([row for _, row in sorted(answers, key=lambda pair: pair[0])])

    @torch.inference_mode()
    def _ask(self, stretches: list[tuple[int, int]]) -> Float32[np.ndarray, "rows answers 4"]:
        stack = self._counter.config.stack
        mel = np.stack(
            [
                self._frames[(a - self._first) * stack : (b - self._first) * stack]
                for a, b in stretches
            ]
        )
        hints = np.stack([hints_of(self._speech, a - self._spoken, b - a) for a, b in stretches])
        device = self._counter.mean.device
        logits = self._counter(torch.from_numpy(mel).to(device), torch.from_numpy(hints).to(device))
        answers = logits.softmax(dim=-1).cpu().numpy().copy()  # (rows, instants, 4)
        loudest = maximum_filter1d(hints.reshape(len(hints), -1), 2 * NEAR + 1, axis=1)
        answers[loudest < LEAST_HINT] = NOBODY
        return answers

    def _forget(self) -> None:
        """Let go of what no further answer hears."""
        first = max(self._first, self._answered - self._before)
        self._frames = self._frames[(first - self._first) * self._counter.config.stack :]
        self._first = first
        spoken = first - first % WHOLE_STEPS
        self._speech = self._speech[(spoken - self._spoken) * STEP_SAMPLES // CHUNK :]
        self._spoken = spoken


@dataclass(frozen=True, kw_only=True)
class NetworkActivity:
    """Hear how many speak, and where there is speech, whatever the level.

    A first pass over the recording measures its level; in a second one silero-vad and the network
    hear it at a common level.

    Attributes:
        threshold: probability of speech with which a region begins, 0 to 1; it goes on for as long
            as the probability is above two thirds of that.
        min_speech: seconds; shorter speech is dropped.
        min_silence: seconds; shorter silence within speech is filled.
        model: name of shipped weights, or path of a file.
    """

    threshold: float = 0.4
    min_speech: float = 0.1
    min_silence: float = 0.2
    model: str | Path = DEFAULT_COUNTER

    def __post_init__(self) -> None:
        if not 0 < self.threshold < 1:
            raise InputError(f"the activity threshold lies between 0 and 1, not {self.threshold}")
        for name in ("min_speech", "min_silence"):
            seconds = getattr(self, name)
            if not 0 <= seconds < math.inf:
                raise InputError(f"{name} is a number of seconds from 0 on, not {seconds}")

    @property
    def lower(self) -> float:
        """Probability of speech under which a region ends."""
        return self.threshold * HYSTERESIS

    @property
    def identity(self) -> list[Any]:
        """All that the result depends on beside the recording, as JSON knows it."""
        options = {name: value for name, value in asdict(self).items() if name != "model"}
        weights = hashlib.sha256(find_counter(self.model).read_bytes()).hexdigest()
        return ["network", options, weights, version_of("silero-vad")]

    def __call__(self, recording: Recording, hook: Hook | None = None) -> Heard:
        """Listen to a recording.

        Args:
            recording: what `diarize.audio.open_recording` gave.
            hook: told progress, `hook("activity", done, total)` in seconds.

        Raises:
            InputError: the recording turns out to be damaged, or there are no such weights.
        """
        counter = load_counter(self.model)
        gain = np.float32(measure_gain(recording))
        parts, seconds = [], 0.0
        sliding = SlidingCounter(counter, SPAN, CONTEXT, CONTEXT, ROWS)
        silero, mel = SileroNetwork(), LogMelStream()
        for block in recording.blocks(SPAN * STEP_SECONDS / 2):
            levelled = np.clip(block * gain, -1.0, 1.0)
            parts.append(sliding.push(mel.push(levelled), silero(as_chunks(levelled))))
            seconds += len(block) / SAMPLE_RATE
            if hook is not None:
                hook(ACTIVITY_STEP, min(seconds, recording.duration), recording.duration)
        parts.append(sliding.push(mel.finish(), np.zeros(0, np.float32)))
        parts.append(sliding.finish())
        n = math.ceil(seconds / INSTANT - 1e-6)
        voices = VoiceCounts(recording.start, np.concatenate(parts)[:n])
        return Heard(self.regions(voices, seconds), voices)

    def regions(self, voices: VoiceCounts, seconds: float) -> Float64[np.ndarray, "m 2"]:
        """Where there is speech, seconds of the file's time."""
        found = voices.speech(self.threshold, self.lower, self.min_speech, self.min_silence)
        return clip_regions(found, voices.start, voices.start + seconds)


def find_counter(name: str | Path = DEFAULT_COUNTER) -> Path:
    """Find weights of the network by the name of shipped ones or by their path.

    Raises:
        InputError: neither shipped weights nor a file.
    """
    shipped = models_folder() / "activity" / f"{name}.safetensors"
    path = shipped if shipped.is_file() else Path(name)
    if not path.is_file():
        raise InputError(f"{name}: no such weights of the activity network, and no such file")
    return path


@lru_cache(maxsize=2)
def load_counter(name: str | Path = DEFAULT_COUNTER) -> VoiceCounter:
    """Load the network, ready for inference.

    Args:
        name: of shipped weights, or the path of a file.

    Raises:
        InputError: no such weights, or a file that is damaged or made for something else.
    """
    from safetensors import SafetensorError, safe_open

    path = find_counter(name)
    try:
        require_whole(path)
        with safe_open(path, framework="pt") as file:
            header = (file.metadata() or {}).get(CONFIG)
            if header is None:
                raise InputError(f"{path}: not an activity network (no configuration in it)")
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        counter = VoiceCounter(CounterConfig(**json.loads(header)))
        counter.load_state_dict(tensors)
    except SafetensorError as error:
        raise InputError(f"{path}: a damaged weights file ({error})") from None
    except (RuntimeError, TypeError, ValueError) as error:
        if str(error).startswith(str(path)):
            raise InputError(str(error)) from None
        reason = (str(error).splitlines() or [type(error).__name__])[-1].strip()
        raise InputError(f"{path}: weights that do not fit the network ({reason})") from None
    return counter.eval().requires_grad_(False)


def save_counter(counter: VoiceCounter, path: Path) -> None:
    """Write the network's weights, whole or not at all."""
    from safetensors.torch import save

    tensors = {name: value.detach().cpu() for name, value in counter.state_dict().items()}
    header = {CONFIG: json.dumps(asdict(counter.config))}
    with atomic_output(path, "wb") as file:
        file.write(sealed(save(tensors, metadata=header)))
