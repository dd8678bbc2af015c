"""Affinity propagation (Frey, Dueck 2007): single speakers only."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Float64, Int64
from sklearn.exceptions import ConvergenceWarning

from diarize.clustering.base import Regions, SampledClusterer, SpeakerBounds, warn_not_converged
from diarize.clustering.checks import Rows, check_number, check_preference
from diarize.clustering.geometry import cluster_means
from diarize.clustering.selection import Criterion, Partition, search
from diarize.sets import SpeakerSets

MORE_DAMPING = 2
"""How often messages that do not settle are passed anew, with damping halfway nearer to 1."""

BLOCK = 512
"""Rows whose distances are worked on at a time."""


@dataclass(kw_only=True, eq=False, repr=False)
class AP(SampledClusterer):
    """Affinity propagation: every row chooses an exemplar, and so holds one speaker.

    scikit-learn's `affinity_propagation` on negative squared distances. Where its exemplars are
    more or fewer than the bounds on speakers allow, those are kept, or added, that serve the rows
    best.

    Args:
        preference: gamma, at most 0: what an exemplar costs, in squared distance; None: between
            what the last exemplar and one more would save, their number (if not given) being
            inferred by `selection`.
        damping: lambda, share of the old messages in the new, at least 0.5 and below 1; more
            where they do not settle.
        sample_size: rows fitted at most, since memory grows with their square; None: all.

    Attributes:
        preference_: gamma that was used; None where a single exemplar needed no messages.
        n_iter_: iterations of the last message passing.
    """

    preference: float | None = None
    damping: float = 0.65
    count_penalty: float = 1.0
    max_iter: int = 300
    sample_size: int | None = 2_000

    finds_overlap = False
    composes = False

    negative = ("preference",)

    # The paper tries -1 to -7; what is best depends on how far the unit vectors scatter.
    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "preference": (None, -0.5, *(-1.0 * n for n in (1, 2, 3, 4, 5, 6, 7, 9, 12, 16, 24)))
    }

    def _check_options(self) -> None:
        super()._check_options()
        check_preference(self.preference)
        check_number("damping", self.damping, least=0.5)
        if self.damping >= 1:
            raise ValueError(f"damping must be below 1, got {self.damping!r}")

    def _cluster(
        self,
        rows: Rows,
        criterion: Criterion,
        generator: np.random.Generator,
    ) -> Callable[[SpeakerBounds], Regions]:
        return partial(self._within, rows, pairwise_squares(rows), criterion, generator)

    def _within(
        self,
        rows: Rows,
        distances: Float[np.ndarray, "n n"],
        criterion: Criterion,
        generator: np.random.Generator,
        bounds: SpeakerBounds,
    ) -> Regions:
        self.preference_, self.n_iter_ = self.preference, 0
        exemplars = np.zeros(0, dtype=np.int64)
        if self.preference_ is None:
            exemplars, self.preference_ = self._infer(rows, distances, bounds, criterion)
        if self.preference_ is not None and len(rows) > 1:
            exemplars = self._propagate(distances, self.preference_, generator)
        if len(exemplars) > bounds.high:
            kept, _ = grow(distances[:, exemplars], np.zeros(0, dtype=np.int64), bounds.high)
            exemplars = exemplars[kept]
        exemplars = np.sort(grow(distances, exemplars, bounds.low)[0])
        labels = distances[:, exemplars].argmin(axis=1)
        k = len(exemplars)
        labels[exemplars] = np.arange(k)  # also where rows coincide
        means = cluster_means(rows, labels, k)
        centers = rows[exemplars].astype(np.float64)
        return Regions(labels, SpeakerSets(np.eye(k)), centers, np.zeros(k), means)

    def _infer(
        self,
        rows: Rows,
        distances: Float[np.ndarray, "n n"],
        bounds: SpeakerBounds,
        criterion: Criterion,
    ) -> tuple[Int64[np.ndarray, " k"], float | None]:
        """Exemplars found greedily, as many as the criterion likes best, and their preference."""
        none = np.zeros(0, dtype=np.int64)

        def attempt(
            k: int, before: tuple[np.ndarray, float] | None
        ) -> tuple[Partition, tuple[np.ndarray, float]]:
            exemplars, saved = grow(distances, before[0] if before else none, k)
            labels = distances[:, exemplars].argmin(axis=1)
            labels[exemplars] = np.arange(k)
            return Partition.of(rows, labels), (exemplars, saved)

        exemplars, saved = search(range(bounds.low, bounds.high + 1), attempt, criterion)
        k = len(exemplars)
        if k in (1, len(rows)):
            return exemplars, None
        _, next_saved = grow(distances, exemplars, k + 1)
        preference = -float(np.sqrt(saved) * np.sqrt(next_saved))
        return exemplars, preference or None  # rows that coincide save nothing

    def _propagate(
        self,
        distances: Float[np.ndarray, "n n"],
        preference: float,
        generator: np.random.Generator,
    ) -> Int64[np.ndarray, " k"]:
        """Exemplars by message passing; none where it finds none."""
        from sklearn.cluster import affinity_propagation

        seed, damping = int(generator.integers(2**31)), self.damping
        for _ in range(1 + MORE_DAMPING):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                exemplars, _, self.n_iter_ = affinity_propagation(
                    -distances,
                    preference=preference,
                    damping=damping,
                    max_iter=self.max_iter,
                    copy=False,
                    return_n_iter=True,
                    random_state=seed,
                )
            settled = not any(issubclass(w.category, ConvergenceWarning) for w in caught)
            if settled and _better_than_one(distances, exemplars, preference):
                break
            damping = (1 + damping) / 2
        else:
            warn_not_converged("AP", self.max_iter)
        return np.asarray(exemplars, dtype=np.int64)


def _better_than_one(
    distances: Float[np.ndarray, "n n"], exemplars: Any, preference: float
) -> bool:
    """Whether these exemplars serve the rows at least as well as the best single one.

    Before they settle, messages that swing may for a while make every row an exemplar.
    """
    if len(exemplars) < len(distances):
        return True
    alone = float(distances.sum(axis=0, dtype=np.float64).min()) - preference
    return -preference * len(distances) <= alone


def pairwise_squares(rows: Rows) -> Float[np.ndarray, "n n"]:
    """Squared distances of all rows from each other, in their own precision; zero to itself."""
    centered = (rows - rows.mean(axis=0, dtype=np.float64)).astype(rows.dtype, copy=False)
    squares = np.einsum("np,np->n", centered, centered)
    distances = np.empty((len(rows), len(rows)), dtype=rows.dtype)
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        products = squares[block, None] + squares - 2 * (centered[block] @ centered.T)
        np.maximum(products, 0, out=distances[block])
    np.fill_diagonal(distances, 0)
    return distances


def grow(
    distances: Float[np.ndarray, "n m"], chosen: Int64[np.ndarray, " k"], n_exemplars: int
) -> tuple[Int64[np.ndarray, " more"], float]:
    """Add exemplars (columns), each time the one that saves most, until there are so many.

    The second answer is what the last one saved in the sum of the rows' distances from their
    nearest exemplar; infinite if it is the first or none was added.
    """
    answer, saved = list(chosen), np.inf
    nearest: Float64[np.ndarray, " n"] | None = None
    if answer:
        nearest = distances[:, answer].min(axis=1).astype(np.float64)
    while len(answer) < n_exemplars:
        savings = np.zeros(distances.shape[1])
        for start in range(0, len(distances), BLOCK):
            block = distances[start : start + BLOCK]
            if nearest is None:
                savings -= block.sum(axis=0, dtype=np.float64)
            else:
                gain = np.maximum(nearest[start : start + BLOCK, None] - block, 0)
                savings += gain.sum(axis=0)
        savings[answer] = -np.inf
        best = int(savings.argmax())
        saved = np.inf if nearest is None else float(savings[best])
        column = distances[:, best].astype(np.float64)
        nearest = column if nearest is None else np.minimum(nearest, column)
        answer.append(best)
    return np.array(answer, dtype=np.int64), saved
