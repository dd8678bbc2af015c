"""Where there is speech and of how many, while the sound comes: the activities of a recording."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float32

from diarize.activity.counter import MOST
from diarize.activity.counts import INSTANT, Activity
from diarize.activity.inference import (
    STEP_SAMPLES,
    STEP_SECONDS,
    Context,
    CountingStream,
    Posteriors,
)
from diarize.activity.network import NetworkActivity, load_counter
from diarize.activity.regions import with_hysteresis
from diarize.activity.rejection import LiveRejection
from diarize.activity.silero import CHUNK_SECONDS, LATE_END, LATENCY, SileroActivity, SileroNetwork
from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.features import N_FFT, STEP
from diarize.streaming.loudness import LiveLevel
from diarize.streaming.speech import SpeechRegions

BEHIND = 75  # steps, 3 s, that the network hears before those that it answers for
LEAST_HEARD_OUT = 0.07  # seconds of speech and of silence, together, before either is believed
MOST_AHEAD = 12  # steps, 0.48 s, that it hears after them
# Of the same again, 8 to 16 s later, for who looks back: with 8 s on either side of 8 s, it hears
# twice as many people talk at once as with so little of what follows.
AGAIN = Context(200, 200, 200)
# A step is heard once its last frame is there, and the sound under the second half of that.
UNHEARD = (STEP_SAMPLES + (N_FFT - STEP) / 2) / SAMPLE_RATE  # seconds

Counts = Float32[np.ndarray, "answers 4"]


class Counted(NamedTuple):
    """How many voices there are, of instants of 20 ms that follow those of the last one."""

    now: Counts = np.zeros((0, MOST + 1), np.float32)  # said at once
    again: Counts = np.zeros((0, MOST + 1), np.float32)  # said again, knowing what came after


class LiveSilero:
    """Finds regions of speech as `SileroActivity` does, chunk after chunk."""

    def __init__(self, options: SileroActivity) -> None:
        self._network, self._level = SileroNetwork(), LiveLevel()
        self._threshold = options.threshold
        self.regions = SpeechRegions(
            CHUNK_SECONDS,
            options.min_speech,
            options.min_silence,
            late=LATENCY,
            late_end=LATE_END,
        )

    @property
    def slowness(self) -> float:
        """Seconds by which `regions.sure` may stay behind the sound, at most."""
        return self.regions.slowness

    def push(self, chunks: Float32[np.ndarray, "n 512"]) -> Counted:
        """Hear the chunks that follow those of the last call; nobody counts voices."""
        speech = self._network(self._level(chunks))
        self.regions.push((speech >= self._threshold).tolist())
        return Counted()

    def finish(self, duration: float) -> Counted:
        """There is no more sound; what is on stays on to the end."""
        self.regions.finish(duration)
        return Counted()


class LiveCounter:
    """Hears how many speak as `NetworkActivity` does, but only `ahead` steps of what follows."""

    def __init__(self, options: NetworkActivity, ahead: int = MOST_AHEAD) -> None:
        self._level = LiveLevel()
        # All that can be answered is answered at once: the fewest runs of the network.
        self._counting = CountingStream(
            load_counter(options.model), Context(None, BEHIND, ahead), AGAIN
        )
        self._rejections = LiveRejection(), LiveRejection()  # now, and again
        self._ahead = ahead
        self._upper, self._lower = options.threshold, options.lower
        self._speaking = False
        self._answered = [0, 0]  # instants, now and again
        self.regions = SpeechRegions(INSTANT, options.min_speech, options.min_silence)

    @property
    def slowness(self) -> float:
        """Seconds by which `regions.sure` may stay behind the sound, at most."""
        return UNHEARD + self._ahead * STEP_SECONDS + self.regions.slowness

    def push(self, chunks: Float32[np.ndarray, "n 512"]) -> Counted:
        """Hear the chunks that follow those of the last call.

        Returns:
            Probabilities of no, one, two, three or more voices in the instants that follow those of
            the last call, and whose look-ahead has come.
        """
        return self._answer(self._counting.push(self._level(chunks)))

    def finish(self, duration: float) -> Counted:
        """There is no more sound; what is on stays on to the end."""
        n = int(np.ceil(duration / INSTANT - 1e-6))
        both = zip(self._counting.finish(), self._answered, strict=True)
        heard = self._answer(
            [Posteriors(*(p[: max(0, n - done)] for p in left)) for left, done in both]
        )
        self.regions.finish(duration)
        return heard

    def _answer(self, answers: list[Posteriors]) -> Counted:
        for i, answer in enumerate(answers):
            self._answered[i] += len(answer.counts)
        each = zip(self._rejections, answers, strict=True)
        heard = Counted(*(rejection(*answer) for rejection, answer in each))
        self._follow(heard.now)
        return heard

    def _follow(self, counts: Counts) -> None:
        """Make regions of speech of them."""
        # What was decided last stands before, as surely as can be.
        speech = np.append(np.float32(self._speaking), 1 - counts[:, 0])
        on = with_hysteresis(speech, self._upper, self._lower)
        self._speaking = bool(on[-1])
        self.regions.push(on[1:].tolist())


def hear_live(options: Activity, spare: float, most: float) -> LiveSilero | LiveCounter:
    """Make what hears in a stream.

    Args:
        options: of the activity.
        spare: seconds after which speech must be known for good. The network looks ahead as far as
            this leaves time for, and at most 0.48 s.
        most: seconds after which it must be known at the latest. Where that is too little to hear
            out short speech, or a short silence, still shorter ones are believed.

    Raises:
        InputError: a detector that hears whole recordings only.
    """
    if isinstance(options, SileroActivity):
        return LiveSilero(options)
    if not isinstance(options, NetworkActivity):
        raise InputError(f"a stream cannot hear with {type(options).__name__}")
    heard_out = options.min_speech + options.min_silence
    believed = max(most - UNHEARD, LEAST_HEARD_OUT)
    if believed < heard_out:
        share = believed / heard_out
        options = replace(
            options, min_speech=share * options.min_speech, min_silence=share * options.min_silence
        )
    ahead = int((spare - LiveCounter(options, 0).slowness) / STEP_SECONDS + 1e-9)
    return LiveCounter(options, min(max(ahead, 0), MOST_AHEAD))
