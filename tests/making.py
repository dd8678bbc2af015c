"""Small things that many tests make: turns, hums, unit vectors, a composition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from pyannote.core import Annotation, Segment

from diarize.activity import VoiceCounts
from diarize.clustering import make
from diarize.scatter import Scatter
from diarize.sets import to_sphere
from diarize.timeline import Decoded, TimelineOptions, Trellis, decode
from diarize.timeline.resegmentation import decode_turns


def annotation(*turns: tuple[float, float, str], uri: str | None = "talk") -> Annotation:
    """Turns of a recording, from start to end (seconds), each on a track of its own."""
    made = Annotation(uri=uri)
    for track, (start, end, speaker) in enumerate(turns):
        made[Segment(start, end), track] = speaker
    return made


def turns_of(made: Annotation) -> list[tuple[float, float, str]]:
    """Start, end and speaker of each turn, to the millisecond."""
    return [
        (round(turn.start, 3), round(turn.end, 3), speaker)
        for turn, _, speaker in made.itertracks(yield_label=True)
    ]


def write_hum(path: Path, pitch: float, seconds: float = 3.0, *, spoken: float = 1.0) -> None:
    """Write a hum (Hz) for a voice, in the share of each second that is `spoken`."""
    time = np.arange(round(seconds * 16_000)) / 16_000
    hum = 0.1 * np.sign(np.sin(2 * np.pi * pitch * time)) * (time % 1 < spoken)
    soundfile.write(path, hum, 16_000)


def write_hums(folder: Path, voices: int, trained: int, *, spoken: float = 1.0) -> Path:
    """Speech of so many voices, a file each, of which the first are there to be trained on."""
    rows = ["path\tspeaker\tcorpus\tsplit"]
    for n in range(voices):
        write_hum(folder / f"{n}.wav", 80 + 23 * n, spoken=spoken)
        rows.append(f"{n}.wav\ts{n}\thums\t{'train' if n < trained else 'dev'}")
    (folder / "speakers.tsv").write_text("\n".join(rows) + "\n")
    return folder


def cells(n: int, step: float = 0.5) -> np.ndarray:
    """Stretches of so many seconds, one after the other from 0 s on."""
    edges = np.arange(n + 1) * step
    return np.stack([edges[:-1], edges[1:]], axis=1)


def unit(values: np.ndarray) -> np.ndarray:
    return values / np.linalg.norm(values, axis=-1, keepdims=True)


def unit_mean(a: Any, b: Any) -> Any:
    """A symmetric g with unit vectors in and out; for numpy and torch alike."""
    total = a + b
    return total / ((total * total).sum(-1, keepdims=True)) ** 0.5


def voice_of(generator: np.random.Generator, n: int, scatter: Scatter) -> np.ndarray:
    """Unit vectors of somebody, scattered as it says, in 25 of 64 dimensions."""
    place = to_sphere(generator.normal(size=(1, 64)))
    scattered = generator.normal(size=(n, 64)) * np.sqrt(scatter.variance / 25)
    scattered[:, 25:] = 0
    return to_sphere(place + scattered)


def conversation() -> tuple[np.ndarray, np.ndarray, list[list[int]]]:
    """Two voices take turns, overlap for a second, and the first returns: windows, cells, sets."""
    rng = np.random.default_rng(0)
    truth = [[0]] * 20 + [[0, 1]] * 5 + [[1]] * 20 + [[0]] * 15
    places = np.eye(2, 16)
    composed = np.stack([unit_mean(*places) if len(s) == 2 else places[s[0]] for s in truth])
    return unit(composed + rng.standard_normal((60, 16)) * 0.06), cells(60, 0.2), truth


def decoded_by_shorter_windows() -> Decoded:
    """The conversation, in which it was heard how many speak, decoded by shorter windows."""
    vectors, times, truth = conversation()
    estimator = make("ckm", n_speakers=2, compose=unit_mean, random_state=0).fit(vectors)
    voices = np.repeat([len(speakers) for speakers in truth], 10)  # each 20 ms
    counts = VoiceCounts(0.0, np.eye(4, dtype=np.float32)[voices])
    speakers = estimator.speakers()
    trellis = Trellis.of(times, vectors, speakers.sets(), counts, TimelineOptions())
    return decode_turns(decode(trellis, speakers), unit(vectors + 0.01), speakers)
