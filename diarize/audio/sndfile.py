"""What libsndfile reads, through soundfile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import soundfile
from jaxtyping import Float32

from diarize.audio.decoders import CHUNK_VALUES, MAX_MISSING, damaged
from diarize.audio.inputs import Input
from diarize.audio.mpeg import CleanMpeg, MpegFrames, find_frames, parse_header
from diarize.errors import InputError

_UNKNOWN = 1 << 62  # libsndfile's count of frames where a header gives none is above


class _Sequential(soundfile.SoundFile):
    """soundfile seeks after each read, which formats without a length do not survive."""

    def seekable(self) -> bool:
        return False

    @property
    def can_seek(self) -> bool:
        return bool(super().seekable())


class SoundFileDecoder:
    """What libsndfile reads: wav, flac, ogg, opus, mp3, aiff, caf and more.

    A file that ends more than `MAX_MISSING` before its header says, or whose decoder fails on the
    way, is refused. Of uncompressed files (wav, aiff) libsndfile corrects the header by the size of
    the file, so that a recorder that was switched off leaves something to work with.
    """

    def __init__(self, source: Input) -> None:
        self._source = source
        self._mpeg = self._find_mpeg()
        with self._open() as file:
            self.sample_rate: int = file.samplerate
            self.n_channels: int = file.channels
            self.n_frames: int = file.frames
        if self.n_frames >= _UNKNOWN:
            self.n_frames = sum(len(chunk) for chunk in self.chunks(0))

    def chunks(self, first: int) -> Iterator[Float32[np.ndarray, "frames channels"]]:
        step = max(1, CHUNK_VALUES // self.n_channels)
        position = 0
        try:
            with self._open() as file:
                if first and file.can_seek:
                    position = file.seek(first)
                while position < self.n_frames:
                    wanted = min(step, self.n_frames - position)
                    chunk = file.read(out=np.empty((wanted, self.n_channels), np.float32))
                    if position + len(chunk) > first:
                        yield chunk[max(0, first - position) :]
                    position += len(chunk)
                    if len(chunk) < wanted:
                        break
        except soundfile.LibsndfileError as error:
            raise self._damaged(position) from error
        missing = self.n_frames - position
        if self.n_frames < _UNKNOWN and missing > MAX_MISSING * self.sample_rate:
            raise self._damaged(position)

    def sha256(self) -> str:
        return self._source.sha256()

    def _damaged(self, frame: int) -> InputError:
        readable = frame / self.sample_rate
        total = readable if self.n_frames >= _UNKNOWN else self.n_frames / self.sample_rate
        return damaged(self._source.label, readable, total)

    def _find_mpeg(self) -> MpegFrames | None:
        with self._source.open() as view:
            if view.read(3) != b"ID3":
                view.seek(0)
                if (view.read(2) or b"\0")[0] != 0xFF:
                    return None
            mpeg = find_frames(view)
            view.seek(0)
            begun = parse_header(view.read(4) or b"")
        if mpeg is None:
            if begun is not None and begun.layer == 3:  # libsndfile would print what it thinks
                raise InputError(f"{self._source.label}: is damaged or cut off")
            return None
        per_frame, found = mpeg.seconds_per_frame, mpeg.n_frames * mpeg.seconds_per_frame
        announced = (mpeg.announced or 0) * per_frame
        lost = mpeg.gap_bytes * found / max(1, sum(length for _, length in mpeg.spans))
        if max(announced - found, lost) > MAX_MISSING:
            up_to = found if mpeg.gap is None else mpeg.gap
            raise damaged(self._source.label, up_to, max(announced, found + lost))
        return mpeg

    @contextmanager
    def _open(self) -> Iterator[_Sequential]:
        with self._source.open() as view:
            stream: Any = CleanMpeg(view, self._mpeg) if self._mpeg else view
            try:
                with _Sequential(stream) as file:
                    yield file
            except (soundfile.LibsndfileError, InputError):
                if view.failure is None:
                    raise
            if view.failure is not None:
                raise InputError(f"{self._source.label}: cannot be read: {view.failure}")
