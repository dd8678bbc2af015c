"""What decodes a recording into frames of samples, and how damage to it is told."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Num

from diarize.errors import InputError

CHUNK_VALUES = 1 << 17  # samples of all channels that are decoded at a time: memory, not seconds
MAX_MISSING = 0.5  # seconds by which headers may be wrong; encoders' delays are below 0.1
LARGEST = 1e12  # sample; powers of larger ones may overflow


class Damaged(InputError):
    """A file that holds less than it declares.

    Attributes:
        readable: seconds of it that can be read.
    """

    readable: float = 0.0


@runtime_checkable
class Decoder(Protocol):
    """A recording at its own rate, with its own channels."""

    sample_rate: int
    n_channels: int
    n_frames: int  # from the header; may be an estimate
    damage: Damaged | None  # what is known of it before anything is decoded

    def chunks(self, first: int) -> Iterator[Float32[np.ndarray, "frames channels"]]:
        """Decode from frame `first` to the end, a bounded number of frames at a time.

        Raises:
            Damaged: the file fails, or ends, before its header says; all frames in front of that
                place were given.
        """
        ...

    def sha256(self) -> str:
        """Name what is decoded by its content."""
        ...


def damaged(label: str, readable: float, total: float) -> Damaged:
    """The error of a file of which `readable` of `total` seconds can be read."""
    least = math.floor(10 * readable + 1e-6) / 10  # so that it can be read up to there
    if least <= 0:
        error = Damaged(f"{label}: is damaged or cut off; nothing of its {total:.1f} s can be read")
    else:
        of_total = f" of {total:.1f} s" if total - readable >= 0.1 else ""
        error = Damaged(
            f"{label}: is damaged or cut off; it can be read up to {least:.1f} s{of_total} "
            f"(`run --end {least:.1f}` takes what is there)"
        )
    error.readable = readable
    return error


class ArrayDecoder:
    """Samples that are in memory already: floats as they are, integers by their full scale."""

    def __init__(self, samples: Num[np.ndarray, "frames channels"], sample_rate: int) -> None:
        self.damage: Damaged | None = None
        self._samples = samples
        self.sample_rate = sample_rate
        self.n_frames, self.n_channels = samples.shape

    def chunks(self, first: int) -> Iterator[Float32[np.ndarray, "frames channels"]]:
        step = max(1, CHUNK_VALUES // self.n_channels)
        for begin in range(first, self.n_frames, step):
            yield as_floats(self._samples[begin : begin + step])

    def sha256(self) -> str:
        kind = f"{self._samples.dtype.str} {self._samples.shape} {self.sample_rate}".encode()
        return hashlib.sha256(kind + self._samples.tobytes()).hexdigest()


def as_array(samples: Any, shapes: Mapping[int, str], of: str = "") -> Num[np.ndarray, "..."]:
    """Samples that a caller hands in: an array, a tensor on any device, or nested lists.

    Args:
        samples: floats, or integers of 8, 16 or 32 bits.
        shapes: of each number of axes that they may have, what these are.
        of: is said before the reason.

    Raises:
        InputError: no numbers, another shape, or integers that do not tell their full scale.
    """
    if hasattr(samples, "detach"):  # a tensor
        samples = samples.detach().cpu()
        samples = samples.float() if samples.is_floating_point() else samples
    shape = " or ".join(shapes.values())
    try:
        values = np.asarray(samples)
    except ValueError as error:  # lists of several lengths
        raise InputError(f"{of}samples are real numbers of shape {shape}") from error
    if values.dtype.kind not in "iuf" or values.ndim not in shapes:
        raise InputError(
            f"{of}samples are real numbers of shape {shape}, not "
            f"{values.dtype} of shape {values.shape}"
        )
    if values.dtype.kind in "iu" and values.dtype.itemsize > 4:  # a sum of channels, say
        raise InputError(
            f"{of}samples of {values.dtype} do not tell their full scale: give 8, 16 or 32 "
            "bits, or floats between -1 and 1"
        )
    return values


def require_usable(
    samples: Float32[np.ndarray, "n *channels"], first: int, rate: int, of: str = ""
) -> None:
    """Refuse samples that are not finite or beyond `LARGEST`; `first` is the number of the first.

    Raises:
        InputError: names the time of the first such sample; `of` is said before the reason.
    """
    usable = np.abs(samples) <= LARGEST
    if not usable.all():
        row = int(np.argmin(usable.reshape(len(samples), -1).all(axis=1)))
        finite = np.isfinite(samples[row]).all()
        what = f"too large, beyond {LARGEST:g}" if finite else "not a finite number"
        raise InputError(f"{of}the sample at {(first + row) / rate:.3f} s is {what}")


def as_floats(samples: np.ndarray) -> np.ndarray:
    """Bring samples of any type to float32 with a full scale of one."""
    kind = samples.dtype
    if kind.kind == "u":
        middle = 2.0 ** (8 * kind.itemsize - 1)
        return ((samples - middle) / middle).astype(np.float32)
    if kind.kind == "i":
        return (samples / 2.0 ** (8 * kind.itemsize - 1)).astype(np.float32)
    with np.errstate(over="ignore"):  # what does not fit is found as infinite later on
        return samples.astype(np.float32, copy=False)
