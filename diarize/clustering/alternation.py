"""Compositional k-means (Li, He, Whitehill, Algorithm 3), line by line, for many restarts at once.

`nearest` keeps counts and sums of the sets (line 4), `gradient` goes through g (line 5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float64, Int64

from diarize.clustering.checks import Rows
from diarize.clustering.geometry import UNIT_TOLERANCE, lie_on_sphere
from diarize.clustering.gradient import SetComposer
from diarize.clustering.nearest import Nearest
from diarize.scatter import Axes
from diarize.sets import to_sphere

TRIALS = 6
"""Steps tried per alternation while the centroids descend."""

GROWTH, BACKTRACK = 1.5, 0.4
"""What a step is multiplied by after it lowered the objective, and after it did not."""

LONGEST, SHORTEST = 8.0, 1e-4
"""Range of a step, in units of the one that is exact for single speakers."""

DESCENT_VALUES = 2**23
"""Values of compositions held at a time while descending (64 MB, and as much per layer of g)."""

OUTSIDE = 0.7
"""What a centroid costs for what it lies beyond the bounds, as squared distance of every row."""

ASTRAY = 0.16
"""How far on the side of all speakers a centroid must lie (`Axes.along_mean`): voices came out at
0.26 and more on trials of dev-a and dev-b, and what leads g astray at -0.2 and less."""


@dataclass(frozen=True)
class CentroidPenalty:
    """What is known of where speakers lie; restarts that hold to it are preferred.

    Attributes:
        apart: cosine beyond which two centroids cost the more the nearer they are: by the objective
            alone, whoever talks for long has a second centroid before somebody who says little has
            any.
        axes: by which voices are told from what is none. Far from all voices there may be a vector
            with which g composes what is near to the rows, so that by the objective alone it is
            better than a person.
    """

    apart: float | None = None
    axes: Axes | None = None

    def cost(self, centroids: Float64[np.ndarray, "r k p"]) -> Float64[np.ndarray, " r"]:
        """Of these centroids, as squared distance of every row."""
        outside = np.zeros(len(centroids))
        if self.apart is not None:
            cosines = centroids @ centroids.swapaxes(1, 2)
            outside += np.triu(np.maximum(cosines - self.apart, 0.0), 1).sum(axis=(1, 2))
        if self.axes is not None:
            outside += np.maximum(ASTRAY - self.axes.along_mean(centroids), 0.0).sum(axis=1)
        return OUTSIDE * outside


class Alternation:
    """Algorithm 3 for r restarts in step."""

    def __init__(
        self,
        rows: Rows,
        composer: SetComposer,
        offsets: Float64[np.ndarray, " m"],
        centroids: Float64[np.ndarray, "r k p"],
        penalty: CentroidPenalty = CentroidPenalty(),
    ) -> None:
        self.sets = composer.sets
        self.offsets = offsets
        self.centroids = centroids  # m_{1} ... m_{k}
        self.centers = composer(centroids)  # (r, m, p); line 2: m_eta <- g(m_{j} of j in eta)
        self.nearest = Nearest(rows, len(centroids), len(self.sets))  # c_i, the set of each row
        # The objective after each step, NaN for a restart that did not take it.
        self.history: list[Float64[np.ndarray, " r"]] = []
        self.n_iter = np.zeros(len(centroids), dtype=np.int64)  # alternations
        self.converged = np.zeros(len(centroids), dtype=bool)
        self._rows = rows
        self._penalty = penalty
        self._composer = composer
        # Where g leaves it, as the mean does, two speakers could stand for one inside the sphere.
        # What opposite vectors are composed to has no direction, and says nothing of that.
        centers = self.centers.reshape(-1, rows.shape[1])
        placed = centers[np.linalg.norm(centers, axis=1) > UNIT_TOLERANCE]
        self._sphere = lie_on_sphere(rows) and lie_on_sphere(placed)
        self._steps = np.ones(len(centroids))

    def alternate(self, tol: float, least_used: int) -> None:
        """Lines 4 and 5, in all restarts that still improve."""
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

    def costs(self) -> Float64[np.ndarray, " r"]:
        """What restarts are compared by."""
        return self.objective() + len(self._rows) * self._penalty.cost(self.centroids)

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
        """Go on with the restarts that cost least, in their old order."""
        if n_restarts >= len(self.centroids):
            return
        best = np.sort(np.argsort(self.costs(), kind="stable")[:n_restarts])
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
