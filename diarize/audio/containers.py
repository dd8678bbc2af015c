"""m4a, mp4, webm and other containers, through PyAV."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import av
import numpy as np
from jaxtyping import Float32

from diarize.audio.declared import declared_sound
from diarize.audio.decoders import CHUNK_VALUES, MAX_MISSING, Damaged, as_floats, damaged
from diarize.audio.inputs import Input
from diarize.errors import InputError

if TYPE_CHECKING:
    from av.container import InputContainer

# Gaps between packets (a phone that lost its network) become silence, so that times stay those
# that a player shows; shorter ones are rounding, longer ones damage.
MIN_GAP = 0.05  # seconds
MAX_GAP = 24 * 3600.0  # seconds
_EXACT = "mov"  # the demuxer whose times are exact to the sample: seeking lands where it says
_PREROLL = 1.0  # seconds decoded before what is wanted: codecs need some to settle
# Demuxers that read a duration; others guess one from the bit rate, or look at the last packets.
_WITH_DURATION = {"mov", "matroska", "flv", "asf", "wav", "aiff", "caf", "flac", "wv", "ape", "tta"}

# Tags may be in any encoding and stop nobody; PyAV 19 sees to that by itself, without an option.
_OLD = int(av.__version__.partition(".")[0]) < 19
_TAGS: dict[str, Any] = {"metadata_errors": "replace"} if _OLD else {}


class ContainerDecoder:
    """The first sound track of a file, its times counted from the start of the file."""

    def __init__(self, source: Input, demuxer: str) -> None:
        self._source = source
        self._demuxer = demuxer
        with self._open() as container:
            try:
                frame = next(container.decode(container.streams.audio[0]), None)
            except av.error.FFmpegError as error:
                raise InputError(f"{source.label}: is damaged or cut off") from error
            if frame is None:
                raise InputError(f"{source.label}: holds no samples")
            if (n_tracks := len(container.streams.audio)) > 1:
                warnings.warn(
                    f"{source.label}: has {n_tracks} sound tracks, of which the first is heard",
                    stacklevel=2,
                )
            # A decoder knows these better than a header: AAC may double the rate it announces.
            self.sample_rate: int = frame.sample_rate
            self.n_channels: int = len(frame.layout.channels)
            self._promised = self._read_duration(container)
        self.damage: Damaged | None = None
        seconds = self._last_packet() if self._promised is None else self._promised
        self.n_frames: int = round(seconds * self.sample_rate)
        with source.open() as view:
            sound = declared_sound(view)
        # As a share of what is there: FFmpeg corrects some headers by it.
        self._share = sound.declared / sound.held if sound is not None and sound.held else 1.0

    def sha256(self) -> str:
        return self._source.sha256()

    def chunks(self, first: int) -> Iterator[Float32[np.ndarray, "frames channels"]]:
        step = max(1, CHUNK_VALUES // self.n_channels)
        pieces: list[np.ndarray] = []
        size = 0
        damage: Damaged | None = None
        try:
            for piece in self._decoded(first):
                pieces.append(piece)
                size += len(piece)
                while size >= step:
                    joined = np.concatenate(pieces)
                    yield joined[:step]
                    pieces, size = [joined[step:]], size - step
        except Damaged as error:
            damage = error
        if size:
            yield np.concatenate(pieces)
        if damage is not None:
            raise damage

    def _decoded(self, first: int) -> Iterator[np.ndarray]:
        position = 0  # the next frame in the file's time
        with self._open() as container:
            stream = container.streams.audio[0]
            base = stream.time_base or Fraction(1, self.sample_rate)
            origin = _origin(container)
            seconds = first / self.sample_rate - _PREROLL
            placed = seconds <= 0 or self._demuxer != _EXACT
            try:
                if not placed:
                    container.seek(int((seconds + origin) / base), stream=stream)
                for frame in container.decode(stream):
                    samples = self._samples(frame)
                    if frame.pts is not None:
                        start = round((float(frame.pts * base) - origin) * self.sample_rate)
                        if not placed:
                            position, placed = start, True
                        gap = (start - position) / self.sample_rate
                        if gap > MAX_GAP:
                            raise self._damaged(position)
                        if gap > MIN_GAP:
                            yield from self._silence(position, start, first)
                            position = start
                    if position + len(samples) > first:
                        yield samples[max(0, first - position) :]
                    position += len(samples)
            except av.error.FFmpegError as error:
                raise self._damaged(position) from error
        total = max(self._promised or 0.0, position / self.sample_rate * self._share)
        if total - position / self.sample_rate > MAX_MISSING:
            raise damaged(self._source.label, position / self.sample_rate, total)

    def _silence(self, begin: int, end: int, first: int) -> Iterator[np.ndarray]:
        step = max(1, CHUNK_VALUES // self.n_channels)
        for at in range(max(begin, first), end, step):
            yield np.zeros((min(step, end - at), self.n_channels), np.float32)

    def _samples(self, frame: av.AudioFrame) -> np.ndarray:
        if frame.sample_rate != self.sample_rate or len(frame.layout.channels) != self.n_channels:
            raise InputError(
                f"{self._source.label}: changes its sample rate or its channels on the way"
            )
        values = frame.to_ndarray()
        planes = values if frame.format.is_planar else values.reshape(-1, self.n_channels).T
        return as_floats(planes.T)

    def _read_duration(self, container: InputContainer) -> float | None:
        """Seconds of sound that the header promises; None: it does not say."""
        stream = container.streams.audio[0]
        if self._demuxer not in _WITH_DURATION:
            return None
        if stream.duration and stream.time_base:
            return float(stream.duration * stream.time_base)
        if container.duration and all(other.type == "audio" for other in container.streams):
            return float(container.duration / av.time_base)
        return None  # of a film, which may go on when the sound has ended

    def _last_packet(self) -> float:
        """Seconds until the last packet ends, where a header does not say: read, not decoded."""
        end = 0.0
        with self._open() as container:
            stream = container.streams.audio[0]
            base = float(stream.time_base or 0)
            origin = _origin(container)
            with contextlib.suppress(av.error.FFmpegError):  # decoding will tell
                for packet in container.demux(stream):
                    if packet.pts is not None:
                        end = max(end, (packet.pts + (packet.duration or 0)) * base - origin)
        return end

    def _damaged(self, frame: int) -> Damaged:
        total = self.n_frames / self.sample_rate
        return damaged(self._source.label, frame / self.sample_rate, total)

    @contextlib.contextmanager
    def _open(self) -> Iterator[Any]:
        with self._source.open() as view:
            try:
                container = av.open(view, format=self._demuxer, **_TAGS)
            except av.error.FFmpegError as error:
                raise InputError(f"{self._source.label}: is damaged or cut off") from error
            with container:
                if not container.streams.audio:
                    raise InputError(f"{self._source.label}: holds no sound")
                yield container
            if view.failure is not None:
                raise InputError(f"{self._source.label}: cannot be read: {view.failure}")


def _origin(container: InputContainer) -> float:
    """Seconds on the file's clock at which it starts."""
    return (container.start_time or 0) / av.time_base
