"""Stand-ins until the package has tuning, presets and the adjusted Rand index."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from diarize import clustering
from diarize.scoring import compositional_rand_index
from diarize.sets import SpeakerSets

SPACES: dict[str, dict[str, tuple[Any, ...]]] = {
    "ckm": {"n_speakers": (4, 5, 6, None)},
    "gcr": {"n_base_clusters": (None, 12, 15, 18), "threshold": (None, 0.4, 0.6, 0.8)},
    "ac": {"distance_threshold": (1.0, 2.0, 3.0, 4.0)},
}


@dataclass(frozen=True)
class Trial:
    """Vectors and the sets that they hold."""

    name: str
    rows: np.ndarray
    truth: SpeakerSets


@dataclass(frozen=True)
class Tuning:
    """The best parameters and all others."""

    params: dict[str, Any]
    score: float
    table: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Preset:
    """Named parameters."""

    name: str
    backend: str
    params: dict[str, Any]
    source: str


def preset_text(preset: Preset) -> str:
    """A preset as JSON."""
    return json.dumps(vars(preset), indent=2) + "\n"


def read_preset(path: Path) -> Preset:
    """A preset from JSON."""
    return Preset(**json.loads(Path(path).read_text()))


def tune(
    backend: str,
    trials: Any,
    *,
    compose: Any,
    max_set_size: int = 2,
    space: Any = None,
    seed: int = 0,
) -> Tuning:
    """Every combination."""
    space = SPACES[backend] if space is None else space
    table = []
    for values in product(*space.values()):
        params = dict(zip(space, values, strict=True))
        made = clustering.make(
            backend, compose=compose, max_set_size=max_set_size, random_state=seed, **params
        )
        scores = [compositional_rand_index(made.fit(t.rows).sets_, t.truth) for t in trials]
        table.append((params, float(np.mean(scores)), float(np.std(scores) / len(scores) ** 0.5)))
    table.sort(key=lambda row: -row[1])
    return Tuning(table[0][0], table[0][1], table)


def adjusted_rand_index(inferred: SpeakerSets, truth: SpeakerSets) -> float:
    """The adjusted Rand index of whole sets."""
    from sklearn.metrics import adjusted_rand_score

    return float(adjusted_rand_score(truth.labels, inferred.labels))
