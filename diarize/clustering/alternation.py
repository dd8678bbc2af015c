"""The alternation of compositional k-means, for many restarts in step."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float64, Int64

from diarize.clustering.assignment import Assignment, lie_on_sphere, to_sphere
from diarize.clustering.base import ConvergenceMonitor, Rows
from diarize.clustering.set_composer import SetComposer

TRIALS = 6
"""Steps tried per alternation while the centroids descend."""

GROWTH, BACKTRACK = 1.5, 0.4
"""What a step is multiplied by after it lowered the objective, and after it did not."""

LONGEST, SHORTEST = 8.0, 1e-4
"""Range of a step, in units of the one that is exact for single speakers."""

DESCENT_VALUES = 2**23
"""Values of compositions held at a time while descending (64 MB, and as much per layer of g)."""


class Alternation:
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
        assigned = self.objective()
        small = tol * np.maximum(assigned, np.finfo(float).tiny)
        per_restart = self._composer.chains * self.centers.shape[2]
        block = max(1, DESCENT_VALUES // per_restart)
        for start in range(0, len(live), block):
            part = live[start : start + block]
            self._descend(part, small[part])
        descended = self.objective()
        self.monitor.record(assigned, live)
        self.monitor.record(descended, live)
        self.monitor.iterations[live] += 1
        self.monitor.settled[live] = (moved == 0) & ((assigned - descended)[live] <= small[live])

    def objective(self) -> Float64[np.ndarray, " r"]:
        """Sum of squared distances (3) and of the offsets, at the present state."""
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
        for trials_left in reversed(range(TRIALS)):
            part = restarts[on]
            step = self._steps[part]
            trial = self.centroids[part] - step[:, None, None] * gradient[on] / curvature[on]
            if self._sphere:
                trial = to_sphere(trial)
            centers, pullback = self._composer.with_pullback(trial)
            reached = self.assignment.objective(centers, self.offsets, part)
            better = reached < value[on]
            done = better & (value[on] - reached <= small[on])
            done |= ~better & (step <= SHORTEST)
            self.centroids[part[better]] = trial[better]
            self.centers[part[better]] = centers[better]
            if trials_left and (better & ~done).any():  # the way back through g costs most
                gradient[on[better]] = pullback(self.assignment.slope(centers, part))[better]
            value[on[better]] = reached[better]
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
        best = np.sort(np.argsort(self.objective(), kind="stable")[:n_restarts])
        self.centroids, self.centers = self.centroids[best], self.centers[best]
        self._steps = self._steps[best]
        self.assignment.keep(best)
        self.monitor.keep(best)

    def use_at_least(self, n_speakers: int) -> None:
        """At the end, see to it that so many speakers hold rows, even rows that coincide."""
        revived = [self._revive(r, n_speakers, worth=-1.0) for r in range(len(self.centroids))]
        if any(revived):
            self.monitor.record(self.objective(), np.flatnonzero(revived))

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
