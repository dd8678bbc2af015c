"""Principal axes of training speakers' embeddings, for the backend `dpgmm`.

    python recipes/dpgmm/reduction.py SPEECH_DIR [SPLIT] [OUT.safetensors]

Embeds windows of 2 s of every training speaker (SPLIT of speakers.tsv, default train), and writes
their mean, their first 20 principal axes and the covariance within one speaker along these, with
the name and hash of the model; by default beside the shipped weights.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import save

from diarize.audio import open_recording
from diarize.audio.recording import SAMPLE_RATE
from diarize.clustering.dpgmm.reduction import AXES, HEADER, shipped_reduction
from diarize.embedding import embed_windows, find_model, load_model, place_windows
from diarize.embedding.weights import DEFAULT_MODEL, sha256
from diarize.files import atomic_output
from diarize.mixing.speech import by_speaker, find_utterances, read_samples, without_pauses
from diarize.refinement import WINDOW

UTTERANCES = 4  # of one speaker
SECONDS = 8.0  # of one utterance
STEP = 1.0  # seconds between two windows


def speaker_vectors(folder: Path, split: str) -> list[np.ndarray]:
    """Vectors (windows, p) of each speaker who has at least two."""
    model = load_model()
    found = []
    for utterances in by_speaker(find_utterances(folder, split)).values():
        vectors = []
        for utterance in utterances[:UTTERANCES]:
            samples = without_pauses(read_samples(utterance.path))[: int(SECONDS * SAMPLE_RATE)]
            if len(samples) < WINDOW * SAMPLE_RATE:
                continue
            region = np.array([[0.0, len(samples) / SAMPLE_RATE]])
            windows, _ = place_windows(region, WINDOW, STEP)
            vectors.append(embed_windows(model, open_recording((samples, SAMPLE_RATE)), windows))
        if sum(map(len, vectors)) > 1:
            found.append(np.concatenate(vectors).astype(np.float64))
    return found


def reduction(speakers: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Mean, axes and the covariance within speakers; every speaker weighs the same."""
    weights = np.concatenate([np.full(len(v), 1 / len(v)) for v in speakers])[:, None]
    rows = np.concatenate(speakers)
    mean = (weights * rows).sum(axis=0) / weights.sum()
    total = (weights * (rows - mean)).T @ (rows - mean) / weights.sum()
    axes = np.linalg.eigh(total)[1][:, ::-1][:, :AXES].T
    scatter = [(v - v.mean(axis=0)) @ axes.T for v in speakers]
    within = np.mean([s.T @ s / (len(s) - 1) for s in scatter], axis=0)
    tensors = {"mean": mean, "axes": axes, "within": within, "total": axes @ total @ axes.T}
    return {name: np.ascontiguousarray(t, dtype=np.float32) for name, t in tensors.items()}


def main(folder: Path, split: str = "train", out: Path | None = None) -> None:
    """Embed, reduce, write."""
    speakers = speaker_vectors(folder, split)
    header = {
        "model": DEFAULT_MODEL,
        "sha256": sha256(find_model(DEFAULT_MODEL)),
        "speakers": len(speakers),
        "windows": sum(map(len, speakers)),
    }
    tensors = reduction(speakers)
    with atomic_output(out or shipped_reduction()) as file:
        file.write(save(tensors, metadata={HEADER: json.dumps(header)}))
    kept = np.trace(tensors["total"])
    print(json.dumps(header), f"variance within speakers {np.trace(tensors['within']) / kept:.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:3], *map(Path, sys.argv[3:4]))
