"""What libsndfile reads, through soundfile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import soundfile
from jaxtyping import Float32

from diarize.audio.declared import (
    OpenEnded,
    declared_sound,
    ends_within_page,
    is_chained,
    open_end,
)
from diarize.audio.decoders import CHUNK_VALUES, MAX_MISSING, Damaged, damaged
from diarize.audio.inputs import Input
from diarize.audio.mpeg import CleanMpeg, MpegFrames, find_frames, parse_header
from diarize.errors import InputError

_FINE_FRAMES = 1024  # decoded at a time where a decoder fails, to find the place
# Bytes of a sample, of what is not compressed in blocks.
_WIDTHS = {
    "PCM_S8": 1, "PCM_U8": 1, "PCM_16": 2, "PCM_24": 3, "PCM_32": 4,
    "FLOAT": 4, "DOUBLE": 8, "ULAW": 1, "ALAW": 1,
}  # fmt: skip
HELD_BACK = 2  # MPEG frames at the end that a decoder does not give
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
    way, can be read up to there.
    """

    def __init__(self, source: Input) -> None:
        self._source = source
        self.damage: Damaged | None = None
        self._mpeg = self._find_mpeg()
        with source.open() as view:
            self._open_end = open_end(view)
        with self._open() as file:
            self.sample_rate: int = file.samplerate
            self.n_channels: int = file.channels
            self._n_held: int = file.frames  # that libsndfile knows of
            width = _WIDTHS.get(file.subtype, 0) * file.channels
        if self._n_held >= _UNKNOWN:
            self._n_held = sum(len(chunk) for chunk in self._chunks(0))
        self.n_frames = self._n_held
        if self._mpeg is not None:
            self._compare_mpeg(self._mpeg)
        else:
            self._compare_header(width)

    def chunks(self, first: int) -> Iterator[Float32[np.ndarray, "frames channels"]]:
        position = first
        for chunk in self._chunks(first):
            yield chunk
            position += len(chunk)
        if self.damage is not None:
            raise self.damage
        if self.n_frames - position > MAX_MISSING * self.sample_rate:
            raise self._damaged(position)

    def _chunks(self, first: int) -> Iterator[Float32[np.ndarray, "frames channels"]]:
        """What can be read of what libsndfile knows of, up to a known damage."""
        end = self._n_held
        if self.damage is not None:
            end = min(end, round(self.damage.readable * self.sample_rate))
        position = first
        # A decoder that fails gives nothing of what it was to decode: smaller pieces are tried.
        for step in (max(1, CHUNK_VALUES // self.n_channels), _FINE_FRAMES):
            try:
                for chunk in self._read(position, end, step):
                    yield chunk
                    position += len(chunk)
                return
            except soundfile.LibsndfileError as error:
                problem = error
        raise self._damaged(position) from problem

    def _read(self, first: int, end: int, step: int) -> Iterator[np.ndarray]:
        position = 0
        with self._open() as file:
            if first and file.can_seek:
                position = file.seek(min(first, file.frames))
            while position < end:
                wanted = min(step, end - position)
                chunk = file.read(out=np.empty((wanted, self.n_channels), np.float32))
                if position + len(chunk) > first:
                    yield chunk[max(0, first - position) :]
                position += len(chunk)
                if len(chunk) < wanted:
                    return

    def sha256(self) -> str:
        return self._source.sha256()

    def _damaged(self, frame: int) -> Damaged:
        readable = frame / self.sample_rate
        total = readable if self._n_held >= _UNKNOWN else self.n_frames / self.sample_rate
        return damaged(self._source.label, readable, total)

    def _compare_header(self, width: int) -> None:
        """Find out whether there is as much sound as the header declares, in frames of `width`.

        Bytes; 0: the sound is in compressed blocks, of which all are alike.
        """
        with self._source.open() as view:
            sound, without_end = declared_sound(view), ends_within_page(view)
            chained = is_chained(view)
        if chained:
            raise InputError(
                f"{self._source.label}: is several Ogg files in one, of which only the first could "
                "be read; make one of them (ffmpeg -i FILE out.flac)"
            )
        if sound is not None and sound.held < sound.declared:
            if width:
                self.n_frames = max(self._n_held, sound.declared // width)
            elif sound.held:
                self.n_frames = max(self._n_held, self._n_held * sound.declared // sound.held)
        if without_end or self.n_frames - self._n_held > MAX_MISSING * self.sample_rate:
            self.damage = self._damaged(self._n_held)

    def _compare_mpeg(self, mpeg: MpegFrames) -> None:
        """Find out whether all frames are there that the first one announces, without a gap."""
        per_frame, found = mpeg.seconds_per_frame, mpeg.n_frames * mpeg.seconds_per_frame
        announced = (mpeg.announced or 0) * per_frame
        lost = mpeg.gap_bytes * found / max(1, sum(length for _, length in mpeg.spans))
        if max(announced - found, lost) > MAX_MISSING:
            # Decoders hold back what the next frames would complete.
            up_to = max(0.0, (found if mpeg.gap is None else mpeg.gap) - HELD_BACK * per_frame)
            total = max(announced, found + lost)
            self.n_frames = round(total * self.sample_rate)
            self.damage = damaged(self._source.label, up_to, total)

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
        return mpeg

    @contextmanager
    def _open(self) -> Iterator[_Sequential]:
        with self._source.open() as view:
            stream: Any = view
            if self._mpeg is not None:
                stream = CleanMpeg(view, self._mpeg)
            elif self._open_end is not None:
                stream = OpenEnded(view, self._open_end)
            try:
                with _Sequential(stream) as file:
                    yield file
            except (soundfile.LibsndfileError, InputError):
                if view.failure is None:
                    raise
            if view.failure is not None:
                raise InputError(f"{self._source.label}: cannot be read: {view.failure}")
