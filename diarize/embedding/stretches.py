"""A list of stretches of audio to one vector each, and the file that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from diarize.audio import open_recording
from diarize.embedding.encoders import identity, load_encoder
from diarize.embedding.weights import pick_device
from diarize.embedding.windows import embed_windows
from diarize.errors import InputError
from diarize.progress import Hook
from diarize.storage.files import write_npz
from diarize.storage.weights import DEFAULT_MODEL


@dataclass(frozen=True)
class Stretch:
    """A part of a file, seconds; without `end`, the whole file."""

    path: str
    start: float = 0.0
    end: float | None = None


def read_stretches(listing: Path) -> list[Stretch]:
    """Read a TSV without header: path, or path, start and end in seconds.

    A relative path is taken from where the program runs. Empty lines are skipped.

    Raises:
        InputError: no such file, or a line that is neither.
    """
    try:
        lines = listing.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "is not UTF-8 text"
        raise InputError(f"{listing}: {reason}") from None
    found = []
    for number, line in enumerate(lines, start=1):
        fields = line.split("\t")
        if not line.strip():
            continue
        try:
            path, *times = fields
            start, end = (float(t) for t in times) if times else (0.0, None)
        except ValueError:
            raise InputError(
                f"{listing}, line {number}: path, or path, start and end expected, divided by tabs"
            ) from None
        if end is not None and not 0 <= start < end:
            raise InputError(f"{listing}, line {number}: {start} to {end} is no stretch of time")
        found.append(Stretch(path, start, end))
    return found


def embed_stretches(
    stretches: Sequence[Stretch],
    model: str = DEFAULT_MODEL,
    device: str = "auto",
    hook: Hook | None = None,
) -> tuple[list[Stretch], Float32[np.ndarray, "n dim"]]:
    """Embed stretches; each file is read once.

    Args:
        stretches: parts of files.
        model: a shipped model's name, or the path of a weights file or of an ONNX file.
        device: "auto", "cpu" or "cuda".
        hook: progress, in files.

    Returns:
        The stretches, which end where their file does at the latest, and their vectors.

    Raises:
        InputError: a file or model that cannot be used, or a stretch beyond a file's end.
    """
    network = load_encoder(model, pick_device(device))
    vectors = np.zeros((len(stretches), network.dim), np.float32)
    heard = list(stretches)
    rows: dict[str, list[int]] = {}
    for row, stretch in enumerate(stretches):
        rows.setdefault(stretch.path, []).append(row)
    for done, (path, own) in enumerate(rows.items(), start=1):
        recording = open_recording(path)
        length = recording.duration
        parts = [stretches[r] for r in own]
        windows = np.array(
            [(s.start, length if s.end is None else min(s.end, length)) for s in parts]
        )
        late = windows[:, 0] >= length
        if late.any():
            begin = windows[late.argmax(), 0]
            raise InputError(f"{path}: ends at {length:.3f} s, before the stretch from {begin} s")
        vectors[own] = embed_windows(network, recording, windows)
        for row, end in zip(own, windows[:, 1].tolist(), strict=True):
            if stretches[row].end is not None:
                heard[row] = replace(stretches[row], end=end)
        if hook:
            hook("embedding", done, len(rows))
    return heard, vectors


def write_vectors(
    path: Path, stretches: Sequence[Stretch], vectors: Float32[np.ndarray, "n dim"], model: str
) -> None:
    """Write vectors and where they come from as NPZ (no pickle).

    A stretch without an end is written with `end` NaN.
    """
    ends = [np.nan if s.end is None else s.end for s in stretches]
    arrays = {
        "embeddings": vectors,
        "path": np.array([s.path for s in stretches], dtype=str),
        "start": np.array([s.start for s in stretches], dtype=np.float64),
        "end": np.array(ends, dtype=np.float64),
        "model": np.array(model),
        "model_sha256": np.array(identity(model)),
    }
    write_npz(path, arrays)
