"""Compositional k-means (Li, He, Whitehill, Algorithm 3).

`Alternation` is the algorithm, line by line, for many restarts at once; `CKM` finds the number of
speakers, first centroids (line 1) and the best restart. `nearest` keeps counts and sums of the sets
(line 4), `gradient` goes through g (line 5).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float64, Int64

from diarize.clustering.base import Regions, SampledClusterer, SpeakerBounds, warn_not_converged
from diarize.clustering.checks import Rows
from diarize.clustering.composition import enumerate_sets
from diarize.clustering.geometry import lie_on_sphere
from diarize.clustering.gradient import SetComposer
from diarize.clustering.nearest import Nearest
from diarize.clustering.seeding import random_rows, spread_rows
from diarize.clustering.selection import Criterion, search
from diarize.sets import SpeakerSets, to_sphere
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

PER_EXCHANGE = 3
"""Other rows tried in the place of each speaker."""

POLISH = 1e-4
"""The best restart goes on until it gains less than this share of `tol`; it alone costs little."""

RUN_VALUES = 2**24
"""Values of centers held for the restarts that run at a time (128 MB)."""

TRIALS = 6
"""Steps tried per alternation while the centroids descend."""

GROWTH, BACKTRACK = 1.5, 0.4
"""What a step is multiplied by after it lowered the objective, and after it did not."""

LONGEST, SHORTEST = 8.0, 1e-4
"""Range of a step, in units of the one that is exact for single speakers."""

DESCENT_VALUES = 2**23
"""Values of compositions held at a time while descending (64 MB, and as much per layer of g)."""


@dataclass(kw_only=True, eq=False, repr=False)
class CKM(SampledClusterer):
    """Compositional k-means: centroids of speakers such that rows are near to sets of them.

    Alternates between assigning each row to the nearest set and moving the speakers' centroids
    down the gradient, which goes through g; the best of many restarts wins. If the rows are unit
    vectors, the centroids stay on the sphere.

    Args:
        n_restarts: restarts from different first centroids.
        set_penalty: squared distance by which a set must be nearer to a row for each speaker
            beyond the first; 0 is the paper's algorithm.
        count_penalty: factor on the penalty of speakers when their number is inferred.
        max_iter: most alternations.
        tol: an alternation that lowers the objective by less than this share of it is the last;
            the best restart goes on to a ten-thousandth of that.
        sample_size: rows fitted at most; None: all.

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
        self, rows: Rows, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Regions:
        k, start = bounds.low, None
        # Many small products: BLAS threads would wait for each other, and spin meanwhile.
        with one_blas_thread():
            if bounds.low < bounds.high:
                start = self._search(rows, bounds, generator)
                k = start.shape[1]
            best = self._solve(rows, k, bounds.low, self.n_restarts, start, generator)
        self.n_iter_ = int(best.n_iter[0])
        self.ssd_history_ = best.values(0)
        self.ssd_ = float(self.ssd_history_[-1])
        self.converged_ = bool(best.converged[0])
        if not self.converged_:
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

    def _search(
        self, rows: Rows, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Float64[np.ndarray, "1 k p"]:
        """Centroids of the number of speakers that the criterion likes best."""
        size = min(len(rows), max(SEARCH_ROWS, bounds.high))
        some = rows[np.sort(generator.choice(len(rows), size, replace=False))]
        criterion = Criterion.of(some, self.count_penalty, self.scatter)

        def attempt(
            k: int, previous: Float64[np.ndarray, "1 l p"] | None
        ) -> tuple[float, Float64[np.ndarray, "1 k p"]]:
            restarts = min(SEARCH_RESTARTS, self.n_restarts)
            best = self._solve(some, k, 1, restarts, previous, generator)
            ssd = float(best.objective()[0])
            value = criterion(ssd, best.nearest.counts[0], int(best.used(0).sum()))
            return value, best.centroids

        return search(range(bounds.low, bounds.high + 1), attempt)

    def _solve(
        self,
        rows: Rows,
        k: int,
        least_used: int,
        n_restarts: int,
        start: Float64[np.ndarray, "1 l p"] | None,
        generator: np.random.Generator,
    ) -> Alternation:
        """The best restart for k speakers, some of whom may be known from the start."""
        sets = enumerate_sets(k, self.max_set_size)
        composer = SetComposer(self.compose, sets, rows.shape[1])
        offsets = self.set_penalty * (sets.sum(axis=1) - 1.0)
        # Line 1: m_{j} <- rows; half of the restarts begin with rows that are far apart.
        n_spread = n_restarts // 2
        initial = [random_rows(rows, k, n_restarts - n_spread, generator)]
        if n_spread:
            initial.append(spread_rows(rows, composer, offsets, n_spread, generator))
        if start is not None:  # as it is, or with speakers added
            again = 1 if start.shape[1] == k else EXTENSIONS
            initial.append(spread_rows(rows, composer, offsets, again, generator, start[0]))
        best = self._run(rows, composer, offsets, np.concatenate(initial), least_used)
        for _ in range(EXCHANGES if k > 1 else 0):
            others = [np.delete(best.centroids[0], j, axis=0) for j in range(k)]
            exchanged = [
                spread_rows(rows, composer, offsets, PER_EXCHANGE, generator, first)
                for first in others
            ]
            run = self._run(rows, composer, offsets, np.concatenate(exchanged), least_used)
            if run.objective()[0] >= best.objective()[0] * (1 - self.tol):
                break
            best = run
        best.converged[:] = False
        while best.n_iter[0] < self.max_iter and not best.converged[0]:
            best.alternate(POLISH * self.tol, least_used)
        best.use_at_least(least_used)
        return best

    def _run(
        self,
        rows: Rows,
        composer: SetComposer,
        offsets: Float64[np.ndarray, " m"],
        initial: Float64[np.ndarray, "r k p"],
        least_used: int,
    ) -> Alternation:
        """The best of these restarts, the others being given up on the way."""
        at_once = max(1, RUN_VALUES // (len(offsets) * rows.shape[1]))
        finished = []
        for first in range(0, len(initial), at_once):
            run = Alternation(rows, composer, offsets, initial[first : first + at_once])
            for iteration in range(self.max_iter):  # line 3: while not converged
                run.alternate(self.tol, least_used)
                if iteration > 0:
                    run.keep_best(max(FINALISTS, len(run.centroids) // 2))
                if run.converged.all():
                    break
            run.keep_best(1)
            finished.append(run)
        return min(finished, key=lambda run: float(run.objective()[0]))


class Alternation:
    """Algorithm 3 for r restarts in step.

    Attributes:
        centroids: m_{1} ... m_{k}, shape (r, k, p).
        centers: m_eta of all sets eta, shape (r, m, p).
        nearest: c_i, the set of each row.
        history: the objective (r,) after each step, NaN for a restart that did not take it.
        n_iter: alternations of each restart, shape (r,).
        converged: which restarts have stopped improving, shape (r,).
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
        self.centers = composer(centroids)  # line 2: m_eta <- g(m_{j} of j in eta)
        self.nearest = Nearest(rows, len(centroids), len(self.sets))
        self.history: list[Float64[np.ndarray, " r"]] = []
        self.n_iter = np.zeros(len(centroids), dtype=np.int64)
        self.converged = np.zeros(len(centroids), dtype=bool)
        self._rows = rows
        self._composer = composer
        self._sphere = lie_on_sphere(rows)
        self._steps = np.ones(len(centroids))

    def alternate(self, tol: float, least_used: int) -> None:
        """Lines 4 and 5, in all restarts that have not converged."""
        live = np.flatnonzero(~self.converged)
        # Line 4: c_i <- argmin |x_i - m_eta|^2
        moved = self.nearest.update(self.centers[live], self.offsets, live)
        for i, restart in enumerate(live):
            moved[i] += self._revive(int(restart), least_used, worth=0.0)
        assigned = self.objective()
        # Line 5: m_{1} ... m_{k} down the gradient of the sum of |x_i - m_{c_i}|^2
        small = tol * np.maximum(assigned, np.finfo(float).tiny)
        per_restart = self._composer.chains * self.centers.shape[2]
        block = max(1, DESCENT_VALUES // per_restart)
        for start in range(0, len(live), block):
            part = live[start : start + block]
            self._descend(part, small[part])
        descended = self.objective()
        self._record(assigned, live)
        self._record(descended, live)
        self.n_iter[live] += 1
        self.converged[live] = (moved == 0) & ((assigned - descended)[live] <= small[live])

    def objective(self) -> Float64[np.ndarray, " r"]:
        """Sum of squared distances (3) and of the offsets, at the present state."""
        return self.nearest.objective(self.centers, self.offsets, np.arange(len(self.centroids)))

    def _descend(self, restarts: Int64[np.ndarray, " live"], small: np.ndarray) -> None:
        """Steps down the gradient of the objective, each restart with a step of its own.

        Only counts and sums of the sets enter. A step in units of 1 / curvature is exact for a
        speaker who is alone in all his sets; one that does not lower the objective is shortened.
        """
        # dF/dm_j moves n_c rows by about 1 / |c| through each set c with j in it.
        weight = self.nearest.counts[restarts] / self.sets.sum(axis=1)
        curvature = (2 * weight @ self.sets)[:, :, None]
        curvature[curvature == 0] = np.inf  # a speaker who holds nothing stays
        value = self.nearest.objective(self.centers[restarts], self.offsets, restarts)
        _, pullback = self._composer.with_pullback(self.centroids[restarts])
        gradient = pullback(self.nearest.slope(self.centers[restarts], restarts))
        on = np.arange(len(restarts))  # places in `restarts` that still descend
        for trials_left in reversed(range(TRIALS)):
            part = restarts[on]
            step = self._steps[part]
            trial = self.centroids[part] - step[:, None, None] * gradient[on] / curvature[on]
            if self._sphere:
                trial = to_sphere(trial)
            centers, pullback = self._composer.with_pullback(trial)
            reached = self.nearest.objective(centers, self.offsets, part)
            better = reached < value[on]
            done = better & (value[on] - reached <= small[on])
            done |= ~better & (step <= SHORTEST)
            self.centroids[part[better]] = trial[better]
            self.centers[part[better]] = centers[better]
            if trials_left and (better & ~done).any():  # the way back through g costs most
                gradient[on[better]] = pullback(self.nearest.slope(centers, part))[better]
            value[on[better]] = reached[better]
            self._steps[part] = np.clip(
                step * np.where(better, GROWTH, BACKTRACK), SHORTEST, LONGEST
            )
            on = on[~done]
            if len(on) == 0:
                break

    def _record(self, values: Float64[np.ndarray, " r"], taken: Int64[np.ndarray, " live"]) -> None:
        step = np.full(len(values), np.nan)
        step[taken] = values[taken]
        self.history.append(step)

    def values(self, restart: int) -> Float64[np.ndarray, " steps"]:
        """The objective of one restart after each of its steps."""
        history = np.array([values[restart] for values in self.history])
        return history[~np.isnan(history)]

    def used(self, restart: int) -> Bool[np.ndarray, " k"]:
        """Which speakers hold rows."""
        return self.sets[self.nearest.counts[restart] > 0].any(axis=0)

    def keep_best(self, n_restarts: int) -> None:
        """Go on with the restarts of least objective, in their old order."""
        if n_restarts >= len(self.centroids):
            return
        best = np.sort(np.argsort(self.objective(), kind="stable")[:n_restarts])
        self.centroids, self.centers = self.centroids[best], self.centers[best]
        self._steps = self._steps[best]
        self.nearest.keep(best)
        self.history = [values[best] for values in self.history]
        self.n_iter, self.converged = self.n_iter[best], self.converged[best]

    def use_at_least(self, n_speakers: int) -> None:
        """At the end, see to it that so many speakers hold rows, even rows that coincide."""
        revived = [self._revive(r, n_speakers, worth=-1.0) for r in range(len(self.centroids))]
        if any(revived):
            self._record(self.objective(), np.flatnonzero(revived))

    def _revive(self, restart: int, n_speakers: int, worth: float) -> int:
        """Give speakers who hold nothing the row that is worst off; how many were revived.

        The objective falls by that row's distance, which must be more than `worth`. A row whose
        speaker would then hold nothing himself is left alone.
        """
        for revived in range(n_speakers):
            used = self.used(restart)
            if used.sum() >= n_speakers:
                return revived
            usage = self.nearest.counts[restart] @ self.sets
            needed = (self.sets & (usage <= 1)).any(axis=1)
            cost = self.nearest.distances(self.centers[restart], restart)
            labels = self.nearest.labels[restart]
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
            self.nearest.relabel(restart, row, speaker)  # the first k sets are the singles
        return n_speakers
