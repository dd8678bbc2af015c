"""Raw samples out of bytes, as they come through a pipe or a socket."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diarize.audio.decoders import as_floats
from diarize.errors import require_one_of

# Little-endian, as `sox -t raw` and `ffmpeg -f s16le` give it on all common machines.
SAMPLE_FORMATS = {
    "u8": "<u1", "s8": "<i1", "s16": "<i2", "s32": "<i4", "f32": "<f4", "f64": "<f8",
}  # fmt: skip


@dataclass
class Pcm:
    """Raw samples out of bytes that come in pieces of any size.

    Attributes:
        sample_format: a name of `SAMPLE_FORMATS`.
        n_channels: whose mean is taken.
    """

    sample_format: str
    n_channels: int
    _rest: bytes = b""  # of a sample, or of a frame

    def __post_init__(self) -> None:
        require_one_of("sample format", self.sample_format, SAMPLE_FORMATS)

    @property
    def width(self) -> int:
        """Bytes of a frame: a sample of each channel."""
        return np.dtype(SAMPLE_FORMATS[self.sample_format]).itemsize * self.n_channels

    @property
    def left_over(self) -> int:
        """Bytes that are no whole frame."""
        return len(self._rest)

    def decode(self, data: bytes) -> np.ndarray:
        """Samples of the mean of all channels, float32."""
        kind = np.dtype(SAMPLE_FORMATS[self.sample_format])
        data = self._rest + data
        whole = len(data) - len(data) % self.width
        self._rest = data[whole:]
        frames = np.frombuffer(data[:whole], kind).reshape(-1, self.n_channels)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is refused later
            return as_floats(frames).mean(axis=1, dtype=np.float32)
