"""Clusterings that say to what degree a row belongs to a speaker: from degrees to sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Bool, Float, Float64

from diarize.clustering.base import Answer, Clusterer, SpeakerBounds, warn_not_converged
from diarize.clustering.checks import Rows
from diarize.clustering.geometry import cluster_means
from diarize.clustering.selection import Criterion, Partition, search
from diarize.sets import SpeakerSets

SEARCH_ROWS = 2000
"""Rows, drawn by chance, on which numbers of speakers are compared."""


@dataclass(frozen=True)
class Mixture:
    """What a soft clustering learned."""

    degrees: Callable[[Rows], Float64[np.ndarray, "n k"]]  # memberships; each row sums to one
    centroids: Float64[np.ndarray, "k p"]
    n_iter: int = 1
    converged: bool = True


class SoftClusterer(Clusterer):
    """A clustering that thresholds memberships: a row holds whom it belongs to enough.

    Subclasses implement `_mix`, and have the options that are declared here.
    """

    composes = False

    threshold: float | None
    count_penalty: float
    max_iter: int
    sample_size: int | None
    n_iter_: int

    def _mix(self, rows: Rows, k: int, generator: np.random.Generator) -> Mixture:
        """Fit k > 1 speakers to these rows."""
        raise NotImplementedError

    def _check_options(self) -> None:
        super()._check_options()
        if self.threshold is not None and self.threshold > 1:
            raise ValueError(f"threshold must be at most 1, got {self.threshold!r}")

    def _prepare(
        self, rows: Rows, y: object, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Callable[[SpeakerBounds], Answer]:
        return partial(self._within, rows, generator)

    @np.errstate(under="ignore")  # memberships of far speakers are as good as zero
    def _within(self, rows: Rows, generator: np.random.Generator, bounds: SpeakerBounds) -> Answer:
        n, p = rows.shape
        if n == 0:
            return SpeakerSets(np.zeros((0, 0))), np.zeros((0, p))
        size = n if self.sample_size is None else max(self.sample_size, bounds.low)
        some = _draw(rows, size, generator)
        if len(some) < n:
            self.sampled_ = size
        k = bounds.low
        if bounds.low < bounds.high:
            fewer = _draw(some, max(SEARCH_ROWS, bounds.low), generator)
            criterion = Criterion.of(rows, self.count_penalty, self.scatter)
            k = self._count(fewer, bounds, criterion.of_sample(len(fewer)), generator)
        mixture = self._fitted(some, k, generator)
        if not mixture.converged:
            warn_not_converged(type(self).__name__, self.max_iter)
        self.n_iter_ = mixture.n_iter
        degrees = mixture.degrees(rows)
        threshold = 1 / k if self.threshold is None else self.threshold
        membership = members(degrees, threshold, self.max_set_size)
        use_at_least(membership, degrees, bounds.low)
        return SpeakerSets(membership), mixture.centroids

    def _count(
        self,
        rows: Rows,
        bounds: SpeakerBounds,
        criterion: Criterion,
        generator: np.random.Generator,
    ) -> int:
        """The number of speakers that the criterion likes best, each row counting for one."""

        def attempt(k: int, _: int | None) -> tuple[Partition, int]:
            nearest = self._fitted(rows, k, generator).degrees(rows).argmax(axis=1)
            return Partition.of(rows, np.unique(nearest, return_inverse=True)[1]), k

        return search(range(bounds.low, min(bounds.high, len(rows)) + 1), attempt, criterion)

    def _fitted(self, rows: Rows, k: int, generator: np.random.Generator) -> Mixture:
        if k > 1:
            return self._mix(rows, k, generator)
        everything = cluster_means(rows, np.zeros(len(rows), dtype=np.int64), 1)
        return Mixture(lambda some: np.ones((len(some), 1)), everything)


def members(
    degrees: Float64[np.ndarray, "n k"], threshold: float, max_set_size: int
) -> Bool[np.ndarray, "n k"]:
    """The speakers of each row: the nearest, and the others of a degree above the threshold.

    Where these are more than `max_set_size`, the highest degrees win; ties go to the lower column.
    """
    membership = degrees > threshold
    rows = np.arange(len(degrees))
    best = degrees.argmax(axis=1)
    membership[rows, best] = True
    crowded = np.flatnonzero(membership.sum(axis=1) > max_set_size)
    if len(crowded):
        # The nearest comes first even where all degrees are undefined.
        ranked = degrees[crowded]
        ranked[np.arange(len(crowded)), best[crowded]] = np.inf
        top = np.argsort(-ranked, axis=1, kind="stable")[:, :max_set_size]
        membership[crowded] = False
        membership[crowded[:, None], top] = True
    return membership


def use_at_least(
    membership: Bool[np.ndarray, "n k"], degrees: Float64[np.ndarray, "n k"], n_speakers: int
) -> None:
    """Give speakers who hold nothing the row that is most theirs, until so many hold rows.

    A row without which a speaker would hold nothing is left alone. Changes `membership`.
    """
    usage = membership.sum(axis=0)
    while (usage > 0).sum() < n_speakers:
        speaker = int(usage.argmin())
        spare = ~membership[:, usage == 1].any(axis=1)
        row = int(np.where(spare, degrees[:, speaker], -np.inf).argmax())
        usage -= membership[row]
        membership[row] = False
        membership[row, speaker] = True
        usage[speaker] = 1


def _draw(rows: Rows, size: int, generator: np.random.Generator) -> Float[np.ndarray, "some p"]:
    if len(rows) <= size:
        return rows
    return rows[np.sort(generator.choice(len(rows), size, replace=False))]
