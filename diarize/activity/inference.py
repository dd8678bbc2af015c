"""Inference of the network that counts voices, in sound that comes in pieces, and fusion with
silero-vad.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float32
from scipy.special import logsumexp, softmax

from diarize.activity.counter import MOST, VoiceCounter
from diarize.activity.level import CHUNK
from diarize.activity.silero import SileroNetwork
from diarize.activity.spectra import BANDS, INSTANT_SAMPLES, SpectraStream
from diarize.audio import SAMPLE_RATE
from diarize.threads import one_blas_thread, one_thread, torch_threads

STEP_SAMPLES = 2 * INSTANT_SAMPLES  # of one step of the network, 40 ms
STEP_SECONDS = STEP_SAMPLES / SAMPLE_RATE
WHOLE_STEPS = 4  # steps that five chunks of silero-vad cover, no more and no less
LEAST_ODDS = 1e-3  # probability of silero-vad below which nothing is told apart
ODDS_SCALE = 4.0  # brings log-odds to the order of one
# Silero-vad's odds of speech count a third beside the network's own: it has heard far more real
# rooms, music and noise. In real meetings a tenth is as much as it says of quiet speech.
SHARE = 0.35
NEUTRAL = 0.1  # probability of silero-vad that changes nothing
SEVERAL = 2.0  # factor on the odds that several speak, where somebody does


def silero_hints(
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
        self._spectra = np.zeros((0, BANDS), np.float32)
        self._speech = np.zeros(0, np.float32)  # probabilities of silero-vad
        self._first = 0  # step of the first row that is held
        self._spoken = 0  # step with which the first of these probabilities begins
        self._answered = 0  # steps

    def push(
        self, spectra: Float32[np.ndarray, "n 256"], speech: Float32[np.ndarray, "chunks"]
    ) -> Float32[np.ndarray, "answers 6"]:
        """Take in spectra and silero-vad's probabilities that follow the last ones.

        Returns:
            Of each instant the logarithms of the probabilities of none, one, two, three or more
            voices, the log-odds that it is a voice that is heard, and silero-vad's of speech.
        """
        self._spectra = np.concatenate([self._spectra, spectra])
        self._speech = np.concatenate([self._speech, speech])
        return self._answer(self._rows)

    def finish(self) -> Float32[np.ndarray, "answers 6"]:
        """There is no more sound: answer what is left."""
        stack = self._counter.config.stack
        if missing := -len(self._spectra) % stack:
            last = self._spectra[-1:] if len(self._spectra) else np.zeros((1, BANDS), np.float32)
            self._spectra = np.concatenate([self._spectra, np.repeat(last, missing, axis=0)])
        found = [self._answer(1)]
        end = self._end()
        if self._answered < end:
            found.append(self._hear([(self._answered, end)], end))
            self._answered = end
        return np.concatenate(found)

    def _end(self) -> int:
        """Steps whose spectra have come."""
        return self._first + len(self._spectra) // self._counter.config.stack

    def _answer(self, least: int) -> Float32[np.ndarray, "answers 6"]:
        """Answer whole spans, at least so many at a time."""
        known = min(self._end(), self._spoken + len(self._speech) * CHUNK // STEP_SAMPLES)
        span = self._span or max(1, known - self._after - self._answered)
        ready = (known - self._after - self._answered) // span
        found = [np.zeros((0, MOST + 3), np.float32)]
        while ready >= least:
            begins = [self._answered + i * span for i in range(min(ready, self._rows))]
            found.append(self._hear([(begin, begin + span) for begin in begins], known))
            self._answered = begins[-1] + span
            ready -= len(begins)
        self._forget()
        return np.concatenate(found)

    def _hear(self, spans: list[tuple[int, int]], known: int) -> Float32[np.ndarray, "answers 6"]:
        answers = []
        heard = [(max(0, a - self._before), min(known, b + self._after)) for a, b in spans]
        lengths = {b - a for a, b in heard}
        for length in sorted(lengths, reverse=True):
            own = [i for i, (a, b) in enumerate(heard) if b - a == length]
            logits = self._ask([heard[i] for i in own])
            each = self._counter.config.stack
            for row, i in zip(logits, own, strict=True):
                begin = (spans[i][0] - heard[i][0]) * each
                answers.append((i, row[begin : begin + (spans[i][1] - spans[i][0]) * each]))
        return np.concatenate([row for _, row in sorted(answers, key=lambda pair: pair[0])])

    @torch.inference_mode()
    def _ask(self, stretches: list[tuple[int, int]]) -> Float32[np.ndarray, "rows answers 6"]:
        stack = self._counter.config.stack
        first = self._first
        spectra = np.stack(
            [self._spectra[(a - first) * stack : (b - first) * stack] for a, b in stretches]
        )
        hints = np.stack(
            [silero_hints(self._speech, a - self._spoken, b - a) for a, b in stretches]
        )
        counter = self._counter
        device = counter.mean.device
        seen = torch.from_numpy(spectra).to(device), torch.from_numpy(hints).to(device)
        heard = counter.hear(*seen)
        voiced = counter.voiced(heard).repeat_interleave(stack, dim=1)[..., None]
        answers = torch.cat([counter.count(heard).log_softmax(dim=-1), voiced], dim=-1)
        odds = hints.reshape(len(hints), -1, 1) * np.float32(ODDS_SCALE)
        return np.concatenate([answers.cpu().numpy(), odds], axis=-1)

    def _forget(self) -> None:
        """Let go of what no further answer hears."""
        first = max(self._first, self._answered - self._before)
        self._spectra = self._spectra[(first - self._first) * self._counter.config.stack :]
        self._first = first
        spoken = first - first % WHOLE_STEPS
        self._speech = self._speech[(spoken - self._spoken) * STEP_SAMPLES // CHUNK :]
        self._spoken = spoken


class Posteriors(NamedTuple):
    """What the network says of instants of 20 ms that follow those of the last call."""

    counts: Float32[np.ndarray, "n 4"]  # probabilities of none, one, two, three or more voices
    voiced: Float32[np.ndarray, "n"]  # log-odds that what is heard is a voice, if anything is


class NetworkInput(NamedTuple):
    """What the network is given of some chunks."""

    spectra: Float32[np.ndarray, "n 256"]
    silero: Float32[np.ndarray, "chunks"]  # probabilities of speech by silero-vad


class Context(NamedTuple):
    """What the network hears with an answer, in steps of 40 ms."""

    span: int | None  # that are answered at a time; None: all whose look-ahead has come
    before: int  # that are heard before them
    after: int  # that are heard after them
    rows: int = 1  # spans that are answered at once


def fused(answers: Float32[np.ndarray, "answers 6"]) -> Posteriors:
    """What a network says, by a `SlidingCounter`, with a share of silero-vad's odds of speech."""
    logits, voiced, odds = answers[:, :-2], answers[:, -2], answers[:, -1]
    if not len(logits):
        return Posteriors(logits, voiced)
    logits[:, 0] -= SHARE * (odds - math.log(NEUTRAL / (1 - NEUTRAL)))
    some = logsumexp(logits[:, 1:], axis=1, keepdims=True)
    logits[:, 2:] += math.log(SEVERAL)
    logits[:, 1:] += some - logsumexp(logits[:, 1:], axis=1, keepdims=True)
    return Posteriors(softmax(logits, axis=1), voiced)


class CountingStream:
    """How many speak in sound that comes in pieces, brought to a common level before.

    Args:
        counter: the network.
        contexts: in each of which it answers.
    """

    def __init__(self, counter: VoiceCounter, *contexts: Context) -> None:
        self._silero = SileroNetwork()
        self._spectra = SpectraStream()
        self._counters = [SlidingCounter(counter, *context) for context in contexts]

    def push(self, chunks: Float32[np.ndarray, "n 512"]) -> list[Posteriors]:
        """Hear the chunks that follow those of the last call; answer as far as they allow."""
        return self.answer(self.listen(chunks))

    def listen(self, chunks: Float32[np.ndarray, "n 512"]) -> NetworkInput:
        """What the network is to hear of the chunks that follow those of the last call."""
        with _single_threaded():
            chunks = np.clip(chunks, -1, 1)
            silero = self._silero(chunks)
            return NetworkInput(self._spectra.push(chunks.reshape(-1)), silero)

    def answer(self, sound: NetworkInput) -> list[Posteriors]:
        """Answer as far as what follows allows; in another thread than `listen`, if one likes."""
        with _single_threaded():
            return [fused(counter.push(*sound)) for counter in self._counters]

    def finish(self) -> list[Posteriors]:
        """There is no more sound: answer what is left."""
        with _single_threaded():
            spectra, silero = self._spectra.finish(), np.zeros(0, np.float32)
            found = []
            for counter in self._counters:
                answers = [counter.push(spectra, silero), counter.finish()]
                found.append(fused(np.concatenate(answers)))
            return found


@contextmanager
def _single_threaded() -> Iterator[None]:
    """One thread: the steps of an LSTM are too small to share."""
    if torch_threads() == 1:
        yield
        return
    with one_thread(), one_blas_thread():
        yield
