"""Sound as it comes, at any rate and in blocks of any size, to even pieces of 16 kHz."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float32

from diarize.audio import SAMPLE_RATE
from diarize.audio.decoders import as_array, as_floats, require_usable
from diarize.audio.recording import RATES, make_resampler, whole_rate
from diarize.errors import InputError

AT_ONCE = 1 << 18  # samples that are resampled at a time: memory does not depend on the block


class Intake:
    """Resamples a stream and cuts it into pieces of equal length.

    What follows sees the same pieces however the stream was cut into blocks, so that all results
    are the same to the last bit.

    Raises:
        InputError: a rate that cannot be used.
    """

    def __init__(self, rate: float) -> None:
        self.rate = whole_rate(rate)
        if not RATES[0] <= self.rate <= RATES[1]:
            raise InputError(
                f"the rate is a whole number of Hz from {RATES[0]} to {RATES[1]}, not {rate}"
            )
        self.received = 0  # samples at the stream's rate
        self._resampler = make_resampler(self.rate)
        self._held = np.zeros(0, np.float32)

    @property
    def seconds(self) -> float:
        """How much sound has come."""
        return self.received / self.rate

    def push(self, samples: Any) -> None:
        """Take in samples of shape (n,), floats or integers (scaled by their full scale).

        Raises:
            InputError: samples that cannot be used; nothing is taken then.
        """
        values = np.ascontiguousarray(as_floats(as_array(samples, {1: "(n,)"})))
        require_usable(values, self.received, self.rate)
        self.received += len(values)
        pieces = [self._held]
        for begin in range(0, len(values), AT_ONCE):
            pieces.append(self._resample(values[begin : begin + AT_ONCE], last=False))
        self._held = np.concatenate(pieces)

    def take(self, size: int) -> Float32[np.ndarray, "samples"] | None:
        """Hand out the next `size` samples at 16 kHz; None where there are not so many yet."""
        if len(self._held) < size:
            return None
        piece, self._held = self._held[:size], self._held[size:]
        return piece

    @property
    def waiting(self) -> int:
        """Samples at 16 kHz that were not handed out yet."""
        return len(self._held)

    def finish(self) -> None:
        """There is no more sound: let what the resampler holds out."""
        rest = self._resample(np.zeros(0, np.float32), last=True)
        self._held = np.concatenate([self._held, rest])

    def _resample(self, samples: np.ndarray, last: bool) -> np.ndarray:
        if self._resampler is None:
            return samples
        return self._resampler.resample_chunk(samples, last=last)


def resampling_delay(rate: int) -> float:
    """Seconds by which resampled sound comes later than the sound itself, at most."""
    resampler = make_resampler(rate)
    if resampler is None:
        return 0.0
    block = np.zeros(max(1, rate // 100), np.float32)
    given = got = 0
    delay = 0.0
    for _ in range(math.ceil(3 * rate / len(block))):
        got += len(resampler.resample_chunk(block))
        given += len(block)
        delay = max(delay, given / rate - got / SAMPLE_RATE)
    return delay
