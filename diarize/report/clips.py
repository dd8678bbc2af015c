"""Clips: the turns of each speaker, cut from the recording into files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
from jaxtyping import Float32
from pyannote.core import Annotation

from diarize.audio import Recording
from diarize.formats.turns import Turn, written_turns
from diarize.storage.files import atomic_output, file_name

_MARK = "clip of diarize"  # as a comment in the header of each, by which they are known

_FULL_SCALE = 1 << 15  # of 16 bits: a recording that has no more is given back bit by bit


def cut_clips(recording: Recording, annotation: Annotation, folder: str | Path) -> list[Path]:
    """Write each turn as a wav of 16 bits, at the recording's own rate and with its channels.

    A file is called by speaker, start and end, ``SPEAKER_00_0012.340-0015.120.wav``; it holds all
    that is heard then, whoever else speaks. Clips of an earlier result stay; it warns of them.

    Returns:
        The files that were written, by start, end and speaker of the turn.

    Raises:
        InputError: the recording is damaged, or the folder cannot be written to.
        OSError: writing failed on the way (a full disk).
    """
    turns = written_turns(annotation)
    if not turns:
        return []
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rate = recording.sample_rate
    names = _names(turns)
    if n_others := len({path.name for path in folder.glob("*.wav")} - set(names)):
        warnings.warn(
            f"{folder}: holds clips that are not of this result ({n_others})", stacklevel=2
        )
    clips = [
        _Clip(folder / name, round(turn.start * rate), round(turn.end * rate))
        for turn, name in zip(turns, names, strict=True)
    ]
    position = clips[0].first
    begun = 0  # clips up to here have been opened
    unfinished: list[_Clip] = []
    with ExitStack() as stack:
        for chunk in recording.frames(turns[0].start):
            stop = position + len(chunk)
            while begun < len(clips) and clips[begun].first < stop:
                clips[begun].open(rate, chunk.shape[1], stack)
                unfinished.append(clips[begun])
                begun += 1
            for clip in unfinished:
                clip.write(chunk[max(0, clip.first - position) : clip.last - position])
                if clip.last <= stop:
                    clip.close()
            unfinished = [clip for clip in unfinished if clip.last > stop]
            position = stop
            if not unfinished and begun == len(clips):
                break
        for clip in unfinished:
            clip.close()
    return [clip.path for clip in clips[:begun]]


def is_clip(path: Path) -> bool:
    """Whether a file is a clip that `cut_clips` wrote; of one that cannot be read, no."""
    try:
        with open(path, "rb") as file:
            return _MARK.encode() in file.read(256)
    except OSError:
        return False


def _names(turns: Sequence[Turn]) -> list[str]:
    """A name for the clip of each turn; two speakers never have the same."""
    called: dict[str, str] = {}
    taken: set[str] = set()
    for turn in turns:
        if turn.speaker not in called:
            name = file_name(turn.speaker)
            while name.casefold() in taken:  # some file systems do not tell A from a
                name += "_"
            taken.add(name.casefold())
            called[turn.speaker] = name
    return [f"{called[turn.speaker]}_{turn.start:08.3f}-{turn.end:08.3f}.wav" for turn in turns]


@dataclass
class _Sink:
    """A file that libsndfile writes to: it calls back from C, where an exception would be lost.

    What fails is kept, and looks as if it had been done, until somebody asks.
    """

    file: IO[bytes]
    failure: OSError | None = None

    def write(self, data: bytes) -> int:
        return self._done(lambda: self.file.write(data), len(data))

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._done(lambda: self.file.seek(offset, whence), 0)

    def tell(self) -> int:
        return self._done(self.file.tell, 0)

    def check(self) -> None:
        """Raise what has failed."""
        if self.failure is not None:
            raise self.failure

    def _done(self, act: Callable[[], int], otherwise: int) -> int:
        try:
            return otherwise if self.failure else act()
        except OSError as error:
            self.failure = error
            return otherwise


@dataclass
class _Clip:
    """The file of a turn, which takes its name once it is complete.

    Attributes:
        path: of the file.
        first: frame of the recording with which it begins.
        last: frame before which it ends.
    """

    path: Path
    first: int
    last: int
    _held: ExitStack = field(default_factory=ExitStack)
    _sink: _Sink = field(init=False)
    _sound: Any = None

    def open(self, rate: int, channels: int, stack: ExitStack) -> None:
        """Begin to write; when `stack` is left with an exception, nothing stays."""
        import soundfile

        stack.push(self._held)
        self._sink = _Sink(self._held.enter_context(atomic_output(self.path)))
        self._held.callback(self._sink.check)  # once the header is written, before it is named
        sound = soundfile.SoundFile(self._sink, "w", rate, channels, "PCM_16", format="WAV")
        sound.comment = _MARK
        self._sound = self._held.enter_context(sound)

    def write(self, frames: Float32[np.ndarray, "frames channels"]) -> None:
        # By hand, since libsndfile multiplies by 32767.
        scaled = np.clip(np.nan_to_num(frames) * _FULL_SCALE, -_FULL_SCALE, _FULL_SCALE - 1)
        self._sound.write(np.round(scaled).astype(np.int16))
        self._sink.check()

    def close(self) -> None:
        self._held.close()
