"""Compositional k-means: the number of speakers, first centroids, and the best of many restarts.

What each restart does is Algorithm 3 of Li, He, Whitehill: `alternation`, line by line.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64

from diarize.clustering.alternation import Alternation, CentroidPenalty
from diarize.clustering.base import Regions, SampledClusterer, SpeakerBounds, warn_not_converged
from diarize.clustering.checks import Rows
from diarize.clustering.composition import count_compositions
from diarize.clustering.gradient import SetComposer
from diarize.clustering.known import one_sided_axes, sure_voices
from diarize.clustering.seeding import random_rows, spread_rows
from diarize.clustering.selection import Criterion, Partition, search
from diarize.scatter import Scatter
from diarize.sets import SpeakerSets, enumerate_sets
from diarize.threads import one_blas_thread

FINALISTS = 8
"""Restarts that are followed until they settle; the others are given up on the way."""

SEARCH_ROWS = 2000
"""Rows, drawn by chance, on which numbers of speakers are compared."""

SEARCH_RESTARTS = 20
"""Restarts per number of speakers while they are compared."""

EXTENSIONS = 8
"""Further restarts that add one speaker to the best centroids of one speaker fewer."""

EXCHANGES = 4
"""Most rounds in which the best restart gives up one speaker at a time for another row."""

PER_EXCHANGE, EXCHANGED = 3, 36
"""Other rows tried in the place of each speaker; in a crowd so few that these are tried in all."""

POLISH = 1e-4
"""The best restart goes on until it gains less than this share of `tol`; it alone costs little."""

SETTLED = 1e-5
"""Share of the objective that the last alternation may take off without a word. Of a speaker too
many, say, centroids drift along a flat valley for long, and nothing comes of it."""

APART = 0.1
"""Where so many speakers are asked for, two of them may be a little nearer than `alike`: by this
share of what is left to one. Nearer than that they cost something (`CentroidPenalty`)."""

MANY = 500
"""Compositions for which a fit takes many seconds, and so says what they are."""

USUAL = 7
"""Speakers up to whom the search goes where nobody says how many there are."""

RUN_VALUES = 2**24
"""Values of centers held for the restarts that run at a time (128 MB)."""


@dataclass(kw_only=True, eq=False, repr=False)
class CKM(SampledClusterer):
    """Compositional k-means: centroids of speakers such that rows are near to sets of them.

    Alternates between assigning each row to the nearest set and moving the speakers' centroids
    down the gradient, which goes through g; the best of many restarts wins. If the rows are unit
    vectors, and g gives such, the centroids stay on the sphere.

    Args:
        n_restarts: restarts from different first centroids.
        tol: an alternation that lowers the objective by less than this share of it is the last;
            the best restart goes on to a ten-thousandth of that.

    Attributes:
        ssd_: sum over the fitted rows of the squared distance from their set's centroid (3), and of
            the set penalties.
        ssd_history_: the same after each half of each alternation of the best restart, and after
            speakers who held nothing were given a row at the end; it never rises.
        n_iter_: its alternations.
        converged_: whether it settled.
    """

    n_restarts: int = 100
    set_penalty: float = 0.0
    count_penalty: float = 1.0
    max_iter: int = 100
    tol: float = 1e-6
    sample_size: int | None = 20_000

    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "set_penalty": (0.0, 0.05, 0.1, 0.2, 0.4),
        "count_penalty": (1.0, 0.5, 0.7, 1.4, 2.0),
    }

    def _cluster(
        self,
        rows: Rows,
        criterion: Criterion,
        generator: np.random.Generator,
    ) -> Callable[[SpeakerBounds], Regions]:
        return partial(self._within, rows, criterion, generator)

    def _within(
        self,
        rows: Rows,
        criterion: Criterion,
        generator: np.random.Generator,
        bounds: SpeakerBounds,
    ) -> Regions:
        k, start = bounds.low, None
        self._tell_of_many(bounds)
        # Many small products: BLAS threads would wait for each other, and spin meanwhile.
        with one_blas_thread():
            penalty = _penalty(criterion.scatter, told=bounds.low == bounds.high)
            if bounds.low < bounds.high:
                start = self._search(rows, bounds, criterion, generator, penalty)
                k = start.shape[1]
            best = self._solve(rows, k, bounds.low, self.n_restarts, start, generator, penalty)
        self.n_iter_ = int(best.n_iter[0])
        self.ssd_history_ = best.values(0)
        self.ssd_ = float(self.ssd_history_[-1])
        self.converged_ = bool(best.converged[0])
        values = self.ssd_history_  # two of each alternation
        gained = values[-3] - values[-1] if len(values) > 2 else np.inf
        if not self.converged_ and gained > SETTLED * self.ssd_:
            warn_not_converged("CKM", self.max_iter)
        used = best.used(0)
        kept = ~best.sets[:, ~used].any(axis=1)  # sets without a speaker who holds nothing
        renumbered = np.cumsum(kept) - 1
        return Regions(
            ids=renumbered[best.nearest.labels[0]],
            sets=SpeakerSets(best.sets[kept][:, used]),
            centers=best.centers[0, kept],
            offsets=best.offsets[kept],
            centroids=best.centroids[0, used],
        )

    def _tell_of_many(self, bounds: SpeakerBounds) -> None:
        """Warn where sets are so many that they take long."""
        k = bounds.low if bounds.low == bounds.high else max(bounds.low, min(bounds.high, USUAL))
        n_compositions = count_compositions(k, self.max_set_size)
        if n_compositions > MANY:
            warnings.warn(
                f"CKM composes sets of up to {self.max_set_size} of {k} speakers in "
                f"{n_compositions} ways, which may take minutes; it is faster with smaller sets",
                stacklevel=2,
            )

    def _search(
        self,
        rows: Rows,
        bounds: SpeakerBounds,
        criterion: Criterion,
        generator: np.random.Generator,
        penalty: CentroidPenalty,
    ) -> Float64[np.ndarray, "1 k p"]:
        """Centroids of the number of speakers that the criterion likes best."""
        size = min(len(rows), max(SEARCH_ROWS, bounds.high))
        some = rows[np.sort(generator.choice(len(rows), size, replace=False))]
        criterion = criterion.of_sample(size)

        def attempt(
            k: int, previous: Float64[np.ndarray, "1 l p"] | None
        ) -> tuple[Partition, Float64[np.ndarray, "1 k p"]]:
            restarts = min(SEARCH_RESTARTS, self.n_restarts)
            best = self._solve(some, k, 1, restarts, previous, generator, penalty)
            ssd = float(best.objective()[0])
            counts = best.nearest.counts[0]
            return Partition(ssd, counts, int(best.used(0).sum())), best.centroids

        return search(range(bounds.low, bounds.high + 1), attempt, criterion)

    def _solve(
        self,
        rows: Rows,
        k: int,
        least_used: int,
        n_restarts: int,
        start: Float64[np.ndarray, "1 l p"] | None,
        generator: np.random.Generator,
        penalty: CentroidPenalty,
    ) -> Alternation:
        """The best restart for k speakers, some of whom may be known from the start."""
        sets = enumerate_sets(k, self.max_set_size)
        composer = SetComposer(self.compose, sets, rows.shape[1])
        offsets = self.set_penalty * (sets.sum(axis=1) - 1.0)
        # Line 1: m_{j} <- rows; half of the restarts begin with rows that are far apart.
        n_spread = n_restarts // 2
        first = rows[sure_voices(rows, penalty.axes, k)]
        initial = [random_rows(first, k, n_restarts - n_spread, generator)]
        if n_spread:
            initial.append(spread_rows(first, composer, offsets, n_spread, generator))
        if start is not None:  # as it is, or with speakers added
            again = 1 if start.shape[1] == k else EXTENSIONS
            initial.append(spread_rows(first, composer, offsets, again, generator, start[0]))
        begun = np.concatenate(initial)
        best = self._best_of(rows, composer, offsets, begun, least_used, penalty)
        each = min(PER_EXCHANGE, max(1, EXCHANGED // k))
        for _ in range(EXCHANGES if k > 1 else 0):
            exchanged = [
                spread_rows(first, composer, offsets, each, generator, others)
                for others in (np.delete(best.centroids[0], j, axis=0) for j in range(k))
            ]
            begun = np.concatenate(exchanged)
            run = self._best_of(rows, composer, offsets, begun, least_used, penalty)
            if run.costs()[0] >= best.costs()[0] * (1 - self.tol):
                break
            best = run
        best.converged[:] = False
        while best.n_iter[0] < self.max_iter and not best.converged[0]:
            best.alternate(POLISH * self.tol, least_used)
        best.use_at_least(least_used)
        return best

    def _best_of(
        self,
        rows: Rows,
        composer: SetComposer,
        offsets: Float64[np.ndarray, " m"],
        initial: Float64[np.ndarray, "r k p"],
        least_used: int,
        penalty: CentroidPenalty,
    ) -> Alternation:
        """The one of these restarts that costs least, others being given up on the way."""
        vectors = max(len(offsets), count_compositions(initial.shape[1], self.max_set_size))
        at_once = max(1, RUN_VALUES // (vectors * rows.shape[1]))
        finished = []
        for first in range(0, len(initial), at_once):
            run = Alternation(rows, composer, offsets, initial[first : first + at_once], penalty)
            for iteration in range(self.max_iter):  # line 3: while not converged
                run.alternate(self.tol, least_used)
                if iteration > 0:
                    run.keep_best(max(FINALISTS, len(run.centroids) // 2))
                if run.converged.all():
                    break
            run.keep_best(1)
            finished.append(run)
        return min(finished, key=lambda run: float(run.costs()[0]))


def _penalty(known: Scatter | None, told: bool) -> CentroidPenalty:
    """Where speakers lie, as far as it is known; `told`: so many are asked for."""
    alike = known.alike if known is not None and told else None
    apart = None if alike is None else alike + APART * (1 - alike)
    return CentroidPenalty(apart, one_sided_axes(known))
