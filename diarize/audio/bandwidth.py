"""How high the sound of a recording reaches: a telephone takes half of what tells voices apart."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float32

from diarize.audio.recording import SAMPLE_RATE, Recording

FRAME = 512  # samples
LOWEST = 90.0  # Hz, under which no voice is: hum, and an offset
EDGE = 4200.0  # Hz, where telephones have nothing left
SHARE = 3e-5
"""Of the power, above the edge, below which a recording is narrow. Telephone calls have 1e-6 and
less, far microphones in quiet rooms 1e-3 and more."""
SECONDS = 120.0  # of sound that are listened to


class Bandwidth:
    """Listens to samples as they come, and says whether they are of a narrow band."""

    def __init__(self) -> None:
        self._power = np.zeros(FRAME // 2 + 1)
        self._frames = 0

    def add(self, samples: Float32[np.ndarray, " n"]) -> None:
        """Listen to some, if not to enough yet; what does not fill a frame is passed over."""
        if self.enough:
            return
        frames = samples[: len(samples) // FRAME * FRAME].reshape(-1, FRAME)
        frames = frames[frames.any(axis=1)]  # digital silence says nothing
        self._frames += len(frames)
        spectra = np.fft.rfft(frames * np.hanning(FRAME).astype(np.float32), axis=1)
        self._power += np.einsum("nf,nf->f", spectra, spectra.conj()).real

    @property
    def enough(self) -> bool:
        """Whether no more is listened to."""
        return self._frames * FRAME >= SECONDS * SAMPLE_RATE

    @property
    def narrow(self) -> bool:
        """Whether there is next to nothing above the edge; False of silence."""
        lowest, edge = (int(hertz * FRAME / SAMPLE_RATE) for hertz in (LOWEST, EDGE))
        return bool(self._power[edge:].sum() < SHARE * self._power[lowest + 1 :].sum())


def is_narrow(recording: Recording) -> bool:
    """Is it narrow in its first two minutes of sound?"""
    heard = Bandwidth()
    for block in recording.blocks():
        heard.add(block)
        if heard.enough:
            break
    return heard.narrow
