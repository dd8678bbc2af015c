"""Compositional k-means (Li, He, Whitehill, Algorithm 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float64, Int64

from diarize.clustering.assignment import Assignment, lie_on_sphere, to_sphere
from diarize.clustering.base import (
    ConvergenceMonitor,
    Regions,
    Rows,
    SampledClusterer,
    SpeakerBounds,
    check_integer,
    check_number,
    warn_not_converged,
)
from diarize.clustering.composition import Compose, enumerate_sets
from diarize.clustering.seeding import random_rows, spread_rows
from diarize.clustering.selection import Criterion, search
from diarize.clustering.set_composer import SetComposer
from diarize.sets import SpeakerSets

FINALISTS = 8
"""Restarts that are followed until they settle; the others are given up on the way."""

TRIALS = 12
"""Steps tried per alternation while the centroids descend."""

GROWTH, BACKTRACK = 1.5, 0.4
"""What a step is multiplied by after it lowered the objective, and after it did not."""

LONGEST, SHORTEST = 8.0, 1e-4
"""Range of a step, in units of the one that is exact for single speakers."""

SEARCH_ROWS = 3000
"""Rows, drawn by chance, on which numbers of speakers are compared."""

SEARCH_RESTARTS = 20
"""Restarts per number of speakers while they are compared."""

DESCENT_VALUES = 2**23
"""Values of compositions held at a time while descending (64 MB, and as much per layer of g)."""


class CKM(SampledClusterer):
    """Compositional k-means: centroids of speakers such that rows are near to sets of them.

    Alternates between assigning each row to the nearest set and moving the speakers' centroids
    down the gradient, which goes through g; the best of many restarts wins. If the rows are unit
    vectors, the centroids stay on the sphere.

    Args:
        n_speakers: k; exactly as many are used. None: inferred.
        min_speakers: least number when inferred.
        max_speakers: largest number when inferred.
        max_set_size: d, most speakers in a set.
        compose: g.
        n_restarts: restarts from different first centroids.
        set_penalty: squared distance by which a set must be nearer to a row for each speaker
            beyond the first; 0 is the paper's algorithm.
        count_penalty: factor on the penalty of speakers when their number is inferred.
        max_iter: most alternations.
        tol: an alternation that lowers the objective by less than this share of it is the last.
        sample_size: rows fitted at most; None: all.
        random_state: seed.

    Attributes:
        ssd_: sum over the fitted rows of the squared distance from their set's centroid (3), and of
            the set penalties.
        ssd_history_: the same after each half of each alternation of the best restart; it never
            rises.
        n_iter_: its alternations.
        converged_: whether it settled.
    """

    ssd_: float
    ssd_history_: Float64[np.ndarray, " steps"]
    n_iter_: int
    converged_: bool

    def __init__(
        self,
        *,
        n_speakers: int | None = None,
        min_speakers: int | None = None,
        max_speakers: int | None = None,
        max_set_size: int = 2,
        compose: Compose | None = None,
        n_restarts: int = 100,
        set_penalty: float = 0.0,
        count_penalty: float = 1.0,
        max_iter: int = 100,
        tol: float = 1e-6,
        sample_size: int | None = 20_000,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_speakers=n_speakers,
            min_speakers=min_speakers,
            max_speakers=max_speakers,
            max_set_size=max_set_size,
            compose=compose,
            random_state=random_state,
        )
        self.n_restarts = n_restarts
        self.set_penalty = set_penalty
        self.count_penalty = count_penalty
        self.max_iter = max_iter
        self.tol = tol
        self.sample_size = sample_size

    def _check_options(self) -> None:
        super()._check_options()
        check_integer("n_restarts", self.n_restarts)
        check_integer("max_iter", self.max_iter)
        for name in ("set_penalty", "count_penalty", "tol"):
            check_number(name, getattr(self, name))

    def _cluster(
        self, rows: Rows, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Regions:
        k, start = bounds.low, None
        if bounds.low < bounds.high:
            start = self._search(rows, bounds, generator)
            k = start.shape[1]
        best = self._solve(rows, k, bounds.low, self.n_restarts, start, generator)
        self.ssd_history_ = np.array(best.monitor.history)[:, 0]
        self.ssd_ = float(self.ssd_history_[-1])
        self.n_iter_ = len(self.ssd_history_) // 2
        self.converged_ = bool(best.monitor.settled[0])
        if not self.converged_:
            warn_not_converged("CKM", self.max_iter)
        used = best.used(0)
        kept = ~best.sets[:, ~used].any(axis=1)  # sets without a speaker who holds nothing
        renumbered = np.cumsum(kept) - 1
        return Regions(
            ids=renumbered[best.assignment.labels[0]],
            sets=SpeakerSets(best.sets[kept][:, used]),
            centers=best.centers[0, kept],
            offsets=best.offsets[kept],
            centroids=best.centroids[0, used],
        )

    def _search(
        self, rows: Rows, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Float64[np.ndarray, "1 k p"]:
        """Centroids of the number of speakers that the criterion likes best."""
        size = min(len(rows), max(SEARCH_ROWS, bounds.high))
        some = rows[np.sort(generator.choice(len(rows), size, replace=False))]
        criterion = Criterion.of(some, self.count_penalty)

        def attempt(
            k: int, previous: Float64[np.ndarray, "1 l p"] | None
        ) -> tuple[float, Float64[np.ndarray, "1 k p"]]:
            best = self._solve(some, k, 1, min(SEARCH_RESTARTS, self.n_restarts), None, generator)
            ssd = float(best.monitor.history[-1][0])
            value = criterion(ssd, best.assignment.counts[0], int(best.used(0).sum()))
            return value, best.centroids

        return search(range(bounds.low, bounds.high + 1), attempt)

    def _solve(
        self,
        rows: Rows,
        k: int,
        least_used: int,
        n_restarts: int,
        start: Float64[np.ndarray, "1 k p"] | None,
        generator: np.random.Generator,
    ) -> _Restarts:
        """The best restart for k speakers."""
        sets = enumerate_sets(k, self.max_set_size)
        composer = SetComposer(self.compose, sets, rows.shape[1])
        offsets = self.set_penalty * (sets.sum(axis=1) - 1.0)
        n_spread = n_restarts // 2
        initial = [
            random_rows(rows, k, n_restarts - n_spread, generator),
            spread_rows(rows, composer, offsets, n_spread, generator),
        ]
        if start is not None:
            initial.append(start)
        run = _Restarts(rows, composer, offsets, np.concatenate(initial))
        for iteration in range(self.max_iter):
            run.alternate(self.tol, least_used)
            if iteration > 0:
                run.keep_best(max(FINALISTS, len(run.centroids) // 2))
            if run.monitor.settled.all():
                break
        run.keep_best(1)
        run.use_at_least(least_used)
        return run


class _Restarts:
    """Centroids of k speakers in r restarts, alternating in step.

    Attributes:
        centroids: m_1 ... m_k, shape (r, k, p).
        centers: of all sets, shape (r, m, p).
    """

    def __init__(
        self,
        rows: Rows,
        composer: SetComposer,
        offsets: Float64[np.ndarray, " m"],
        centroids: Float64[np.ndarray, "r k p"],
    ) -> None:
        self.sets = composer.sets
        self.offsets = offsets
        self.centroids = centroids
        self.centers = composer(centroids)
        self.assignment = Assignment(rows, len(centroids), len(self.sets))
        self.monitor = ConvergenceMonitor(len(centroids))
        self._rows = rows
        self._composer = composer
        self._sphere = lie_on_sphere(rows)
        self._steps = np.ones(len(centroids))

    def alternate(self, tol: float, least_used: int) -> None:
        """Assign the rows, then move the centroids, in all restarts that have not settled."""
        live = np.flatnonzero(~self.monitor.settled)
        moved = self.assignment.update(self.centers[live], self.offsets, live)
        for i, restart in enumerate(live):
            moved[i] += self._revive(int(restart), least_used, worth=0.0)
        assigned = self._values()
        small = tol * np.maximum(assigned, np.finfo(float).tiny)
        per_restart = self._composer.chains * self.centers.shape[2]
        block = max(1, DESCENT_VALUES // per_restart)
        for start in range(0, len(live), block):
            part = live[start : start + block]
            self._descend(part, small[part])
        descended = self._values()
        self.monitor.history += [assigned, descended]
        self.monitor.settled[live] = (moved == 0) & ((assigned - descended)[live] <= small[live])

    def _values(self) -> Float64[np.ndarray, " r"]:
        return self.assignment.objective(self.centers, self.offsets, np.arange(len(self.centroids)))

    def _descend(self, restarts: Int64[np.ndarray, " live"], small: np.ndarray) -> None:
        """Steps down the gradient of the objective, each restart with a step of its own.

        Only counts and sums of the sets enter. A step in units of 1 / curvature is exact for a
        speaker who is alone in all his sets; one that does not lower the objective is shortened.
        """
        # dF/dm_j moves n_c rows by about 1 / |c| through each set c with j in it.
        weight = self.assignment.counts[restarts] / self.sets.sum(axis=1)
        curvature = (2 * weight @ self.sets)[:, :, None]
        curvature[curvature == 0] = np.inf  # a speaker who holds nothing stays
        value = self.assignment.objective(self.centers[restarts], self.offsets, restarts)
        _, pullback = self._composer.with_pullback(self.centroids[restarts])
        gradient = pullback(self.assignment.slope(self.centers[restarts], restarts))
        on = np.arange(len(restarts))  # places in `restarts` that still descend
        for _ in range(TRIALS):
            part = restarts[on]
            step = self._steps[part]
            trial = self.centroids[part] - step[:, None, None] * gradient[on] / curvature[on]
            if self._sphere:
                trial = to_sphere(trial)
            centers, pullback = self._composer.with_pullback(trial)
            reached = self.assignment.objective(centers, self.offsets, part)
            better = reached < value[on]
            slope = pullback(self.assignment.slope(centers, part))
            done = better & (value[on] - reached <= small[on])
            done |= ~better & (step <= SHORTEST)
            self.centroids[part[better]] = trial[better]
            self.centers[part[better]] = centers[better]
            value[on[better]], gradient[on[better]] = reached[better], slope[better]
            self._steps[part] = np.clip(
                step * np.where(better, GROWTH, BACKTRACK), SHORTEST, LONGEST
            )
            on = on[~done]
            if len(on) == 0:
                break

    def used(self, restart: int) -> Bool[np.ndarray, " k"]:
        """Which speakers hold rows."""
        return self.sets[self.assignment.counts[restart] > 0].any(axis=0)

    def keep_best(self, n_restarts: int) -> None:
        """Go on with the restarts of least objective, in their old order."""
        if n_restarts >= len(self.centroids):
            return
        best = np.sort(np.argsort(self.monitor.history[-1], kind="stable")[:n_restarts])
        self.centroids, self.centers = self.centroids[best], self.centers[best]
        self._steps = self._steps[best]
        self.assignment.keep(best)
        self.monitor.keep(best)

    def use_at_least(self, n_speakers: int) -> None:
        """At the end, see to it that so many speakers hold rows, even rows that coincide."""
        for restart in range(len(self.centroids)):
            self._revive(restart, n_speakers, worth=-1.0)
        self.monitor.history[-1] = np.minimum(self.monitor.history[-1], self._values())

    def _revive(self, restart: int, n_speakers: int, worth: float) -> int:
        """Give speakers who hold nothing the row that is worst off; how many were revived.

        The objective falls by that row's distance, which must be more than `worth`. A row whose
        speaker would then hold nothing himself is left alone.
        """
        for revived in range(n_speakers):
            used = self.used(restart)
            if used.sum() >= n_speakers:
                return revived
            usage = self.assignment.counts[restart] @ self.sets
            needed = (self.sets & (usage <= 1)).any(axis=1)
            cost = self.assignment.distances(self.centers[restart], restart)
            labels = self.assignment.labels[restart]
            cost = np.where(needed[labels], -np.inf, cost + self.offsets[labels])
            row = int(cost.argmax())
            if cost[row] <= worth:
                return revived
            speaker = int(used.argmin())
            self.centroids[restart, speaker] = self._rows[row]
            changed = self.sets[:, speaker]
            self.centers[restart, changed] = self._composer.only(changed)(
                self.centroids[restart : restart + 1]
            )[0]
            self.assignment.relabel(restart, row, speaker)  # the first k sets are the singles
        return n_speakers
