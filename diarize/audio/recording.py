"""A recording: where it comes from, how long it is, and its samples block by block."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Float32

from diarize.audio.clipping import unclipped
from diarize.audio.decoders import ArrayDecoder, Damaged, Decoder, as_array, require_usable
from diarize.audio.inputs import BinaryFile, make_input
from diarize.audio.offset import without_offset
from diarize.audio.opening import open_decoder
from diarize.errors import InputError

SAMPLE_RATE = 16_000  # Hz, of all that follows
RATES = (1_000, 384_000)  # Hz, of the recordings that are taken
MAX_CHANNELS = 1024  # as libsndfile; more is an array the wrong way round
CHANNEL = "_channel"  # between the name of a recording and the number of a channel of it, from 1
_MARGIN = 1  # seconds read around a part: the resampler's filter reaches 0.2 s at 1 kHz

Source = str | os.PathLike[str] | BinaryFile | tuple[Any, float] | Mapping[str, Any]


@dataclass(frozen=True, repr=False)
class Recording:
    """A recording, or a part of it, as 16 kHz mono; made by `open_recording`.

    Attributes:
        uri: the file's stem with white space as "_"; "stdin" or "audio" where there is no file.
        label: how messages call it.
        n_channels: channels of the file.
        sample_rate: Hz, of the file.
        start: seconds into the file at which `blocks` begins.
        duration: seconds that `blocks` gives; from the file's header, so it may be an estimate.
        channel: the one channel that is read, from 0; None: the mean of all.
    """

    uri: str
    label: str
    n_channels: int
    sample_rate: int
    start: float
    duration: float
    channel: int | None
    _decoder: Decoder
    _first: int  # of the samples at 16 kHz
    _last: int | None  # one past the last one; None: the end of the file

    def __repr__(self) -> str:
        what = "" if self.channel is None else f", channel {self.channel}"
        return f"<Recording {self.label}: {self.duration:.3f} s from {self.start:.3f} s{what}>"

    @property
    def file_duration(self) -> float:
        """Seconds of the whole file, of which this may be a part."""
        return self._decoder.n_frames / self.sample_rate

    def blocks(self, seconds: float = 30.0) -> Iterator[Float32[np.ndarray, "samples"]]:
        """Decode, mix and resample, block by block; can be called several times.

        Args:
            seconds: length of all blocks but the last. The samples do not depend on it.

        Raises:
            InputError: the file is damaged, holds no samples, or samples that are no numbers.
        """
        size = max(1, round(seconds * SAMPLE_RATE))
        pieces: list[np.ndarray] = []
        held = 0
        empty = True
        for piece in self._pieces():
            empty = False
            pieces.append(piece)
            held += len(piece)
            if held < size:
                continue
            joined = np.concatenate(pieces)
            whole = held - held % size
            for begin in range(0, whole, size):
                yield joined[begin : begin + size].copy()
            pieces, held = [joined[whole:]], held - whole
        if empty:
            raise InputError(f"{self.label}: holds no samples")
        if held:
            yield np.concatenate(pieces)

    def frames(self, start: float = 0.0) -> Iterator[Float32[np.ndarray, "frames channels"]]:
        """Decode at the file's own rate, with all its channels, or the one that is read.

        Args:
            start: seconds into the file at which to begin, whatever part of it this is.

        Raises:
            InputError: the file is damaged.
        """
        for chunk in self._decoder.chunks(round(start * self.sample_rate)):
            yield chunk if self.channel is None else chunk[:, self.channel : self.channel + 1]

    def sha256(self) -> str:
        """Name what `blocks` gives: the file's content, and which part and channel of it this is.

        Raises:
            InputError: the file cannot be read.
        """
        return self._content

    @cached_property
    def _content(self) -> str:
        part = f"{self._decoder.sha256()} {self._first} {self._last} {self.channel}"
        return hashlib.sha256(part.encode()).hexdigest()

    def by_channel(self) -> list[Recording]:
        """Give each channel as a recording of its own; what was spooled is shared.

        Their uris are this one's with `_channel1`, `_channel2`, ... behind it.
        """
        return [
            replace(self, channel=channel, uri=f"{self.uri}{CHANNEL}{channel + 1}")
            for channel in range(self.n_channels)
        ]

    def _pieces(self) -> Iterator[np.ndarray]:
        """The part's samples at 16 kHz, in pieces that depend on the file only."""
        # Reading begins on a whole second, where input and output samples coincide at any rate.
        second = max(0, self._first // SAMPLE_RATE - _MARGIN)
        stop = None
        if self._last is not None:
            stop = (-(-self._last // SAMPLE_RATE) + _MARGIN) * self.sample_rate
        mixed = without_offset(self._mixed(second * self.sample_rate, stop), self.sample_rate)
        position = second * SAMPLE_RATE
        for piece in _resampled(mixed, self.sample_rate):
            begin = max(0, self._first - position)
            end = len(piece) if self._last is None else max(0, self._last - position)
            position += len(piece)
            if piece[begin:end].size:
                yield piece[begin:end]

    def _mixed(self, first: int, stop: int | None) -> Iterator[np.ndarray]:
        """One channel at the file's rate, from frame `first` to `stop`."""
        n = self.n_channels if self.channel is None else 1
        weights = np.full(n, 1 / n, np.float32)
        for chunk in unclipped(self._numbers(first, stop), self.sample_rate):
            yield chunk[:, 0] if n == 1 else chunk @ weights

    def _numbers(self, first: int, stop: int | None) -> Iterator[np.ndarray]:
        """All channels, or the one that is read, from frame `first` to `stop`."""
        channels = slice(None) if self.channel is None else slice(self.channel, self.channel + 1)
        position = first
        for chunk in self._undamaged(first):
            frames = chunk[: None if stop is None else stop - position, channels]
            require_usable(frames, position, self.sample_rate, f"{self.label}: ")
            yield np.ascontiguousarray(frames)
            position += len(frames)
            if stop is not None and position >= stop:
                return

    def _undamaged(self, first: int) -> Iterator[np.ndarray]:
        """What the decoder gives, which may fail behind the part, where only a filter looks."""
        position = first
        try:
            for chunk in self._decoder.chunks(first):
                yield chunk
                position += len(chunk)
        except Damaged:
            if self._last is None or position * SAMPLE_RATE < self._last * self.sample_rate:
                raise


def open_recording(
    source: Source,
    *,
    channel: int | None = None,
    start: float | None = None,
    end: float | None = None,
) -> Recording:
    """Open any recording; nothing but its header is read yet.

    wav, flac, ogg, opus, mp3, aiff, caf and what else libsndfile knows; m4a, mp4, webm and other
    containers through PyAV, if it is installed. A file that ends before its header says, or whose
    decoder fails on the way, is refused, at once or when `Recording.blocks` comes to that place; a
    part of it in front of that place can be read. A header that gives no length, as a pipe's, is
    believed to end where the file ends.

    Args:
        source: a path; "-" for a file on standard input; a binary file object, read from its
            beginning; `(samples, sample_rate)` with samples of shape `(n,)` or `(n, channels)`,
            an array or tensor of floats, or of integers (scaled by their full scale); or pyannote's
            `{"waveform": samples, "sample_rate": rate}` with samples of shape `(channels, n)`.
        channel: read only this channel, from 0; None: mix all channels to their mean.
        start: seconds into the file; None: its beginning. Times stay those of the file.
        end: seconds into the file; None, or behind its end: its end.

    Raises:
        InputError: not a recording that can be read (missing, a folder, empty, in no known format,
            no samples, cut off), no such channel, no such part.
    """
    if isinstance(source, tuple | Mapping):
        uri = label = "audio"
        decoder: Decoder = _from_array(source)
    else:
        made = make_input(source)
        uri, label = made.uri, made.label
        decoder = open_decoder(made)
    if not RATES[0] <= decoder.sample_rate <= RATES[1]:
        raise InputError(
            f"{label}: has a sample rate of {decoder.sample_rate} Hz; "
            f"rates from {RATES[0]} to {RATES[1]} Hz can be read"
        )
    if decoder.n_frames <= 0:
        raise InputError(f"{label}: holds no samples")
    _require_channel(label, channel, decoder.n_channels)
    require_part(start, end, f"{label}: ")
    total = decoder.n_frames / decoder.sample_rate
    first, last = _part(label, start, end, total)
    damage = decoder.damage
    if damage is not None and (last is None or last > round(damage.readable * SAMPLE_RATE)):
        raise damage
    return Recording(
        uri=uri,
        label=label,
        n_channels=decoder.n_channels,
        sample_rate=decoder.sample_rate,
        start=first / SAMPLE_RATE,
        duration=(total if last is None else last / SAMPLE_RATE) - first / SAMPLE_RATE,
        channel=channel,
        _decoder=decoder,
        _first=first,
        _last=last,
    )


def require_part(start: Any, end: Any, of: str = "") -> None:
    """Refuse times that no recording has between them; `of` is said before the reason."""
    for name, value in (("start", start), ("end", end)):
        if value is not None and not isinstance(value, Real):
            raise InputError(f"{of}{name} is a number of seconds, not {value!r}")
        if value is not None and (math.isnan(value) or value < 0):
            raise InputError(f"{of}{name} is {value} s; it must not be negative")
    begin = start or 0.0
    if end is not None and end <= begin:
        raise InputError(f"{of}the part ends at {end:g} s, but starts at {begin:g} s")


def whole_rate(rate: Any, of: str = "") -> int:
    """A rate in Hz as an integer.

    Raises:
        InputError: it is no whole number; `of` is said before the reason.
    """
    try:
        hertz = float(rate)
    except (TypeError, ValueError, OverflowError):
        hertz = math.nan
    if not hertz.is_integer():
        raise InputError(f"{of}the sample rate is a whole number of Hz, not {rate}")
    return int(hertz)


def _require_channel(label: str, channel: Any, n_channels: int) -> None:
    number = channel is None or isinstance(channel, int | np.integer)
    if not number or not 0 <= (channel or 0) < n_channels:
        raise InputError(
            f"{label}: has {n_channels} channel(s), counted from 0; there is no {channel!r}"
        )


def _part(
    label: str, start: float | None, end: float | None, total: float
) -> tuple[int, int | None]:
    """The samples at 16 kHz that lie between two times."""
    begin = start or 0.0
    if begin >= total:
        raise InputError(f"{label}: start is {begin:g} s, but the recording ends at {total:.3f} s")
    first = round(begin * SAMPLE_RATE)
    if end is None or end >= total:
        return first, None
    return first, max(first + 1, round(end * SAMPLE_RATE))


def _from_array(source: Any) -> ArrayDecoder:
    if isinstance(source, Mapping):
        needed = "waveform", "sample_rate"
        if not all(key in source for key in needed):
            raise InputError(f"audio: a mapping holds {' and '.join(needed)}")
        samples, rate = (source[key] for key in needed)
        shapes = {2: "(channels, n)"}
    else:
        if len(source) != 2:
            raise InputError(
                f"audio: a recording is (samples, sample_rate), not {len(source)} values"
            )
        samples, rate = source
        shapes = {1: "(n,)", 2: "(n, channels)"}
    values = as_array(samples, shapes, "audio: ")
    values = values.T if isinstance(source, Mapping) else values
    values = values[:, None] if values.ndim == 1 else values
    n, n_channels = values.shape
    if not 1 <= n_channels <= MAX_CHANNELS or 0 < n < n_channels:
        raise InputError(
            f"audio: {n} samples of {n_channels} channels; samples have the shape "
            f"{' or '.join(shapes.values())}"
        )
    return ArrayDecoder(values, whole_rate(rate, "audio: "))


def make_resampler(rate: int) -> Any:
    """What brings a stream from this rate, Hz, to 16 kHz; None where it has that rate."""
    if rate == SAMPLE_RATE:
        return None
    import soxr

    return soxr.ResampleStream(rate, SAMPLE_RATE, 1, dtype="float32", quality="HQ")


def _resampled(pieces: Iterator[np.ndarray], rate: int) -> Iterator[np.ndarray]:
    """Bring pieces of a signal to 16 kHz, one after the other."""
    stream = make_resampler(rate)
    if stream is None:
        yield from pieces
        return
    for piece in pieces:
        yield stream.resample_chunk(piece)
    yield stream.resample_chunk(np.zeros(0, np.float32), last=True)
