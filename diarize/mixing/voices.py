"""The voices that are drawn from: every speaker at several speeds, in one array on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
from jaxtyping import Float32, Int16, Int64

from diarize.audio import SAMPLE_RATE
from diarize.errors import InputError
from diarize.mixing.acoustics import root_mean_square
from diarize.mixing.speech import Utterance, by_speaker, read_samples, without_pauses
from diarize.progress import Hook
from diarize.storage.files import atomic_output

# Played faster or slower by this much (pitch and formants with it), a speaker is another voice.
SPEEDS = (1.0, 0.93, 1.07, 0.87, 1.15, 0.8, 1.25)
UNLABELLED_SPEEDS = (1.0, 0.9, 1.12)  # of those of whom nobody says who they are
LONGEST_PAUSE = 0.2  # seconds of silence that are kept between two words
UNNAMED = "unlabelled"  # corpus of recordings of which nobody says who speaks: two may be one's
FULL_SCALE = 32767  # of the int16 in which voices are kept
LEAST_SPEECH = 0.5  # seconds that a voice must have to be heard
LOUDNESS = 0.05  # root mean square to which each utterance is brought


@dataclass(frozen=True)
class Voices:
    """Speech without its pauses, one stretch of one array for each voice.

    Attributes:
        samples: 16 kHz, scaled to int16, all voices one after another.
        starts, ends: the stretch of each voice, in samples.
        speakers: the speaker of each voice; several voices of his differ in speed, in formants and
            pitch (`training.shifts`), or in how long their pauses are (`training.activity`).
        corpora: where it comes from; an episode stays within one corpus most of the time.
        heard: unit vector of each voice, as trained weights hear it, `(voices, dim)`, or None.
    """

    samples: np.ndarray
    starts: Int64[np.ndarray, "voices"]
    ends: Int64[np.ndarray, "voices"]
    speakers: np.ndarray
    corpora: np.ndarray
    heard: Float32[np.ndarray, "voices dim"] | None = None

    def __len__(self) -> int:
        return len(self.starts)

    def save(self, folder: Path) -> None:
        """Write the voices into a folder (NumPy files, no pickle)."""
        folder.mkdir(parents=True, exist_ok=True)
        table = {k: v for k, v in vars(self).items() if k != "samples" and v is not None}
        with atomic_output(folder / "samples.npy") as file:
            write_array(file, self.samples)
        with atomic_output(folder / "voices.npz") as file:
            np.savez(file, **table)

    @classmethod
    def of(
        cls, stretches: Sequence[Int16[np.ndarray, "_"]], speakers: np.ndarray, corpora: np.ndarray
    ) -> Voices:
        """Put the speech of voices one after the other."""
        ends = np.cumsum([len(s) for s in stretches], dtype=np.int64)
        starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
        return cls(np.concatenate(stretches), starts, ends, speakers, corpora)

    @classmethod
    def load(cls, folder: Path) -> Voices:
        """Open what `save` wrote; the samples stay on disk until they are used.

        Raises:
            InputError: it is not there, or damaged.
        """
        try:
            with np.load(folder / "voices.npz") as table:
                known = {one.name for one in fields(cls)}  # before, there were more
                rest = {name: table[name] for name in table.files if name in known}
            return cls(samples=np.load(folder / "samples.npy", mmap_mode="r"), **rest)
        except (OSError, EOFError, ValueError, TypeError, BadZipFile) as problem:
            raise InputError(f"{folder}: no voices that can be used ({problem})") from None

    def stretch(self, voice: int) -> Float32[np.ndarray, "samples"]:
        """All of a voice's speech, from -1 to 1."""
        return to_float(self.samples[self.starts[voice] : self.ends[voice]])

    def __getitem__(self, chosen: np.ndarray) -> Voices:
        """Choose voices by number or by a mask; the samples are shared."""
        rest = {k: v[chosen] for k, v in vars(self).items() if k != "samples" and v is not None}
        return Voices(self.samples, **rest)

    def __add__(self, other: Voices) -> Voices:
        """Put two collections of voices that nothing has heard one after the other."""
        return Voices(
            np.concatenate([self.samples, other.samples]),
            np.concatenate([self.starts, other.starts + len(self.samples)]),
            np.concatenate([self.ends, other.ends + len(self.samples)]),
            np.concatenate([self.speakers, other.speakers]),
            np.concatenate([self.corpora, other.corpora]),
        )


def collect_voices(
    utterances: Sequence[Utterance],
    speeds: Sequence[float] = SPEEDS,
    hook: Hook | None = None,
    longest_pause: float = LONGEST_PAUSE,
) -> Voices:
    """Read utterances, cut their pauses, level them, and play them at several speeds.

    A speaker with less than `LEAST_SPEECH` is no voice.

    Args:
        utterances: single-speaker files.
        speeds: factors; 1.0 is the recording itself.
        hook: progress, in speakers.
        longest_pause: seconds to which longer pauses are cut down.

    Raises:
        InputError: a file that cannot be read, or nobody speaks.
    """
    stretches: list[np.ndarray] = []
    rows: list[tuple[str, str]] = []
    groups = by_speaker(utterances)
    for done, (speaker, files) in enumerate(groups.items()):
        speech = np.concatenate([spoken(read_samples(u.path), longest_pause) for u in files])
        enough = len(speech) >= LEAST_SPEECH * SAMPLE_RATE
        for speed in speeds if enough else ():
            stretches.append(at_speed(speech, speed))
            rows.append((speaker, files[0].corpus))
        if hook:
            hook("voices", done + 1, len(groups))
    if not rows:
        names = ", ".join(list(groups)[:5]) + (", ..." if len(groups) > 5 else "")
        raise InputError(f"{names}: nobody with {LEAST_SPEECH} s of speech")
    return Voices.of(stretches, *(np.array(column) for column in zip(*rows, strict=True)))


def write_array(file: IO[bytes], array: np.ndarray) -> None:
    """Write an array as NumPy does, but for errors: they say why nothing can be written."""
    bytes_alone: Any = SimpleNamespace(write=file.write)  # into a file it writes past Python
    np.save(bytes_alone, array)


def to_float(samples: np.ndarray) -> Float32[np.ndarray, "samples"]:
    """Samples as voices keep them, from -1 to 1."""
    return samples.astype(np.float32) / np.float32(FULL_SCALE)


def to_int16(samples: np.ndarray) -> Int16[np.ndarray, "samples"]:
    """Samples from -1 to 1, as voices keep them; what is louder is clipped."""
    return np.round(np.clip(samples, -1, 1) * FULL_SCALE).astype(np.int16)


def spoken(samples: np.ndarray, longest_pause: float = LONGEST_PAUSE) -> np.ndarray:
    """Speech as voices keep it: longer pauses, seconds, cut down, at the loudness of all."""
    return levelled(without_pauses(samples, longest_pause))


def at_speed(samples: np.ndarray, speed: float) -> Int16[np.ndarray, "samples"]:
    """Speech played faster or slower, as voices keep it."""
    import soxr

    if speed != 1.0:
        samples = soxr.resample(samples, SAMPLE_RATE * speed, SAMPLE_RATE)
    return to_int16(samples)


def levelled(samples: np.ndarray) -> np.ndarray:
    """Bring samples to the loudness of all voices."""
    rms = root_mean_square(samples)
    return samples * np.float32(LOUDNESS / rms) if rms > 0 else samples
