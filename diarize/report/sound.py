"""A recording as a web page plays and draws it: compact sound, and the outline of its waveform."""

from __future__ import annotations

import io
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32, UInt8

from diarize.audio import SAMPLE_RATE, Recording

MOST_SECONDS = 7_200
"""Sound that a page holds: 36 MB, and a third more as the text that it is written in."""

MOST_PEAKS = 120_000
_FINEST = 0.02  # seconds that a peak stands for, at least
_PEAKS_PER_BLOCK = 300  # blocks are whole peaks: none has to be carried over

# Of constant rate, where a place in time is a place in the file: a variable rate would be sought
# through a table of 100 entries, minutes apart in a long recording. 40 kbit/s is the lowest at
# which the encoder writes how many samples its delay is, without which sound comes 70 ms late.
_MP3: dict[str, Any] = {
    "format": "MP3",
    "subtype": "MPEG_LAYER_III",
    "bitrate_mode": "CONSTANT",
    "compression_level": 0.8,
}


@dataclass(frozen=True)
class Sound:
    """What a page plays and draws.

    Attributes:
        start: seconds into the file at which peaks and mp3 begin.
        duration: seconds that they last.
        peaks: largest magnitude in stretches of one length, 255 is full scale.
        mp3: a whole MP3 file, 16 kHz mono; None: too long to be held, or there is no encoder.
    """

    start: float
    duration: float
    peaks: UInt8[np.ndarray, " peaks"]
    mp3: bytes | None


def page_sound(recording: Recording) -> Sound:
    """Decode a recording once, block by block; memory grows by 5 kB per second that is embedded.

    A recording of more than `MOST_SECONDS` is drawn but not embedded. Of a part that is not
    embedded, the peaks begin where the file does, so that the file itself can be played to them.

    Raises:
        InputError: the recording is damaged.
    """
    import soundfile

    embedded = recording.duration <= MOST_SECONDS and soundfile.check_format("MP3", _MP3["subtype"])
    start = recording.start if embedded else 0.0
    lead = recording.start - start  # silence before the part
    samples_per_peak = _samples_per_peak(lead + recording.duration)
    peaks = [np.zeros(round(lead * SAMPLE_RATE / samples_per_peak), np.uint8)]
    n_samples = len(peaks[0]) * samples_per_peak
    packed = io.BytesIO()
    with ExitStack() as stack:
        mp3: Any = None
        if embedded:
            mp3 = stack.enter_context(soundfile.SoundFile(packed, "w", SAMPLE_RATE, 1, **_MP3))
        for block in recording.blocks(_PEAKS_PER_BLOCK * samples_per_peak / SAMPLE_RATE):
            peaks.append(_peaks(block, samples_per_peak))
            n_samples += len(block)
            if mp3 is not None:
                mp3.write(block)
    return Sound(
        start=start,
        duration=n_samples / SAMPLE_RATE,
        peaks=np.concatenate(peaks),
        mp3=packed.getvalue() if embedded else None,
    )


def _samples_per_peak(duration: float) -> int:
    return max(round(_FINEST * SAMPLE_RATE), -(-round(duration * SAMPLE_RATE) // MOST_PEAKS))


def _peaks(
    block: Float32[np.ndarray, " samples"], samples_per_peak: int
) -> UInt8[np.ndarray, " peaks"]:
    """Largest magnitudes; the last peak may stand for less."""
    padded = np.pad(np.abs(block), (0, -len(block) % samples_per_peak))
    largest = padded.reshape(-1, samples_per_peak).max(axis=1)
    return np.round(255 * np.minimum(largest, 1.0)).astype(np.uint8)
