"""How many speakers? True against inferred counts, for backends and for the gap statistic.

    PYTHONPATH=recipes python recipes/conversations/counts.py CONVERSATIONS METHOD...

CONVERSATIONS is what `diarize simulate` wrote. METHOD is a backend, or `gap`: compositional k-means
whose k the gap statistic chooses (Tibshirani, Walther, Hastie 2001). Regions of speech are the
reference's, so that counting alone is judged.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from steps.markdown import print_table
from steps.trained import MODEL

from diarize.audio import open_recording
from diarize.clustering import make
from diarize.embedding import embed_windows, load_model, place_windows
from diarize.formats.rttm import read_rttm
from diarize.timeline import regions_of

MOST = 8  # speakers looked for
REFERENCES = 4  # sets of rows without clusters, for the gap statistic
RESTARTS = 10


def read_conversations(folder: Path, model: Any) -> list[tuple[int, np.ndarray]]:
    """The true count and the windows' vectors of each conversation."""
    found = []
    for path in sorted(folder.glob("*.rttm")):
        (reference,) = read_rttm(path).values()
        regions = regions_of(reference.get_timeline().support())
        windows, _ = place_windows(regions, model.knowledge.window, model.knowledge.step)
        vectors = embed_windows(model, open_recording(path.with_suffix(".flac")), windows)
        found.append((len(reference.labels()), vectors))
    return found


def count_by_gap(vectors: np.ndarray, compose: Any) -> int:
    """The least k whose gap is within one standard error of that of k + 1."""
    rng = np.random.default_rng(0)
    most = min(MOST + 1, len(vectors))
    own = log_dispersions(vectors, compose, most)
    others = np.array(
        [log_dispersions(shapeless(vectors, rng), compose, most) for _ in range(REFERENCES)]
    )
    gap = others.mean(axis=0) - own
    error = others.std(axis=0) * np.sqrt(1 + 1 / REFERENCES)
    enough = np.flatnonzero(gap[:-1] >= gap[1:] - error[1:])
    return int(enough[0]) + 1 if len(enough) else most


def log_dispersions(vectors: np.ndarray, compose: Any, most: int) -> np.ndarray:
    """The logarithm of the sum of squared distances with 1 to `most` speakers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # what has no shape takes long
        return np.log(
            [
                make("ckm", n_speakers=k, compose=compose, n_restarts=RESTARTS, random_state=0)
                .fit(vectors)
                .ssd_
                for k in range(1, most + 1)
            ]
        )


def shapeless(vectors: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """As many unit vectors, uniform in the box along the principal axes of these."""
    mean = vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(vectors - mean, full_matrices=False)
    along = (vectors - mean) @ axes.T
    drawn = rng.uniform(along.min(axis=0), along.max(axis=0), along.shape) @ axes + mean
    unit: np.ndarray = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit.astype(np.float32)


def main(folder: Path, methods: list[str]) -> None:
    """Print the mean error of each method, and its table of true against inferred counts."""
    model = load_model(MODEL)
    conversations = read_conversations(folder, model)
    true = np.array([count for count, _ in conversations])
    for method in methods:
        inferred = np.array(
            [
                count_by_gap(vectors, model.compose)
                if method == "gap"
                else make(
                    method,
                    max_speakers=MOST,
                    compose=model.compose,
                    scatter=model.knowledge.scatter,
                    random_state=0,
                )
                .fit(vectors)
                .n_speakers_
                for _, vectors in conversations
            ]
        )
        error = np.abs(inferred - true)
        print(f"\n`{method}`: mean error {error.mean():.2f}, right in {np.mean(error == 0):.0%}\n")
        columns = range(1, int(inferred.max()) + 1)
        rows = [
            [count, *(int(((true == count) & (inferred == c)).sum()) or "" for c in columns)]
            for count in sorted(set(true))
        ]
        print_table(("true \\ inferred", *columns), rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
