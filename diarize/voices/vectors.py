"""Voices as vectors: the centroid of each speaker, and how much speech it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64, Int64

from diarize.activity.regions import regions_of, seconds_in
from diarize.errors import InputError
from diarize.sets import to_sphere

if TYPE_CHECKING:
    from pyannote.core import Annotation

SHORTEST = 0.5  # seconds; of less speech nothing more is known of what it says


def scarcity(seconds: Any) -> Any:
    """One by the seconds of speech that something rests on, a number or an array."""
    return 1 / np.maximum(seconds, SHORTEST)


@dataclass(frozen=True, eq=False, repr=False)
class Voiceprints:
    """Centroids of k speakers.

    Attributes:
        names: no two alike.
        centroids: unit vectors.
        seconds: of speech that each rests on; None: so much that it does not matter.
        origins: those of one number are different persons, others need not be; None: all are.
        narrow: whether each is heard in a narrow band, like a telephone's; None: none of them.
    """

    names: tuple[str, ...] = ()
    centroids: Float32[np.ndarray, "k p"] = field(
        default_factory=lambda: np.zeros((0, 0), np.float32)
    )
    seconds: Float64[np.ndarray, " k"] | None = None
    origins: Int64[np.ndarray, " k"] | None = None
    narrow: Bool[np.ndarray, " k"] | None = None

    def __repr__(self) -> str:
        return f"<Voiceprints of {', '.join(self.names) or 'nobody'}>"

    def __getitem__(self, rows: Sequence[int]) -> Voiceprints:
        """Some of them, by their numbers."""
        names = tuple(self.names[row] for row in rows)
        seconds = None if self.seconds is None else self.seconds[rows]
        origins = None if self.origins is None else self.origins[rows]
        narrow = None if self.narrow is None else self.narrow[rows]
        return Voiceprints(names, self.centroids[rows], seconds, origins, narrow)

    @property
    def scarcity(self) -> Float64[np.ndarray, " k"]:
        """One by the seconds of speech."""
        if self.seconds is None:
            return np.zeros(len(self.names))
        return np.asarray(scarcity(self.seconds))

    @property
    def narrowed(self) -> Bool[np.ndarray, " k"]:
        """Whether each is heard in a narrow band."""
        return np.zeros(len(self.names), bool) if self.narrow is None else self.narrow

    @property
    def rivals(self) -> Float64[np.ndarray, "k k"]:
        """1 for two who are certainly different persons, 0 otherwise."""
        if self.origins is None:
            return 1 - np.eye(len(self.names))
        return (self.origins[:, None] == self.origins) - np.eye(len(self.origins))


def join(voices: Sequence[Voiceprints]) -> Voiceprints:
    """Put voices one after the other; those of two may be one person's."""
    filled = [one for one in voices if one.names]
    if not filled:
        return Voiceprints()
    return Voiceprints(
        tuple(name for one in filled for name in one.names),
        np.concatenate([one.centroids for one in filled]),
        1 / np.maximum(np.concatenate([one.scarcity for one in filled]), 1e-9),
        np.repeat(np.arange(len(filled)), [len(one.names) for one in filled]),
        np.concatenate([one.narrowed for one in filled]),
    )


@dataclass(frozen=True, eq=False)
class Monologues:
    """What k speakers of a recording say alone, or in company if they never are.

    Attributes:
        names: by first appearance.
        weights: seconds of each cell.
        vectors: of the window that speaks for each cell, unit length.
        spoken: seconds of speech, what is said again left out, and those in company by half: they
            tell less of a voice, but whoever talks while others do has as much to say.
    """

    names: tuple[str, ...]
    weights: Float64[np.ndarray, "k n"]
    vectors: Float[np.ndarray, "n p"]
    spoken: Float64[np.ndarray, " k"]

    @classmethod
    def of(
        cls,
        annotation: Annotation,
        cells: Float64[np.ndarray, "n 2"],
        vectors: Float[np.ndarray, "n p"],
        novelty: Float64[np.ndarray, " n"] | None = None,
    ) -> Monologues:
        """Find them in the turns of a recording.

        Args:
            annotation: the turns.
            cells: sorted disjoint stretches of the recording, seconds.
            vectors: of the window that speaks for each.
            novelty: one by how often what it holds is said; nan where nobody knows; None: nothing
                is said again.
        """
        names = tuple(by_first_appearance(annotation))
        held = [
            seconds_in(cells, regions_of(annotation.label_timeline(name).support()))
            for name in names
        ]
        weights = np.reshape(held, (len(names), len(cells)))
        alone = np.where(weights.sum(axis=0) - weights < 1e-6, weights, 0.0)
        spoken = (alone + weights).sum(axis=1) / 2
        if novelty is not None:
            known = np.isfinite(novelty)
            some = weights[:, known].sum(axis=1)
            once = weights[:, known] @ novelty[known]
            spoken = spoken * np.divide(once, some, out=np.ones(len(names)), where=some > 0)
        weights = np.where(alone.any(axis=1, keepdims=True), alone, weights)
        return cls(names, weights, vectors, spoken)

    @cached_property
    def seconds(self) -> Float64[np.ndarray, " k"]:
        """Of each speaker."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def centroids(self) -> Float64[np.ndarray, "k p"]:
        """Mean of each speaker's windows, on the sphere."""
        return to_sphere(self.weights @ self.vectors.astype(np.float64))

    def voiceprints(self, narrow: bool = False) -> Voiceprints:
        """What the speakers sound like, in a band that is narrow or not."""
        centroids, bands = self.centroids.astype(np.float32), np.full(len(self.names), narrow)
        return Voiceprints(self.names, centroids, self.seconds, narrow=bands)


def by_first_appearance(annotation: Annotation) -> list[str]:
    """Labels of an annotation in the order in which they begin to speak."""
    return list(dict.fromkeys(label for _, _, label in annotation.itertracks(yield_label=True)))


def rename(
    annotation: Annotation, voices: Voiceprints, names: Mapping[str, str]
) -> tuple[Annotation, Voiceprints]:
    """Call the speakers of a recording otherwise; those without a new name keep theirs.

    Raises:
        InputError: two would have one name.
    """
    called: dict[str, str] = {}
    for name in dict.fromkeys([*annotation.labels(), *voices.names]):
        new = names.get(name, name)
        if new in called:
            raise InputError(f"{called[new]} and {name} cannot both be called {new}")
        called[new] = name
    renamed = annotation.rename_labels(mapping=dict(names))
    return renamed, replace(voices, names=tuple(names.get(n, n) for n in voices.names))
