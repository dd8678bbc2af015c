"""Compositional affinity propagation (Li, He, Whitehill, section 3 and Algorithms 1 and 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import comb
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64, Int64
from scipy.linalg import block_diag

from diarize.clustering.base import (
    Answer,
    Regions,
    SampledClusterer,
    SpeakerBounds,
    warn_not_converged,
)
from diarize.clustering.cap.exemplars import MOST_EXCHANGED, Assignment, Exemplars, ExemplarSearch
from diarize.clustering.cap.maxima import CompositionScores
from diarize.clustering.cap.messages import Decision, Messages, pass_messages
from diarize.clustering.cap.similarity import Similarity
from diarize.clustering.checks import Rows, check_preference
from diarize.clustering.composition import compose_sets, count_orders
from diarize.clustering.geometry import cluster_means
from diarize.clustering.known import one_sided_axes, sure_voices
from diarize.clustering.selection import Criterion, Partition, search
from diarize.sets import SpeakerSets

MIB = 2**20  # bytes

LARGE = 4
"""Sets of so many speakers and more are of fewer rows than `sample_size` says."""

MOST_COMPOSITIONS = count_orders(3) * comb(150, 3)
"""Compositions of such sets, all orders: as many as those of three of 150 rows."""

JITTER = 1e-3
"""Preferences differ by up to this share, or rows that are alike would never agree on one."""


@dataclass(kw_only=True, eq=False, repr=False)
class CAP(SampledClusterer):
    """Compositional affinity propagation: rows choose exemplars among them, and sets of exemplars.

    What is maximised is the sum over all rows of S(i, c_i): minus the squared distance of row i
    from the composition of the exemplars in c_i, and the preference for a row that is an exemplar.
    Messages between the rows decide, all rows being candidates; where their choices contradict one
    another they are repaired. Exemplars are then exchanged, added and removed as long as that
    raises the objective, and every row takes its best composition.

    Without a preference, ever more exemplars are tried until the criterion of `selection` rises;
    messages are passed at the preference for which that number is best.

    Time and memory of the messages grow with the rows fitted to the power d + 1: `sample_size`
    bounds them (CAP-subset): with sets of three 150 take half a minute. With sets of four and more
    fewer are fitted, such that there are no more compositions than of these 150: 44, 22, 14, or as
    many as there are speakers.

    Args:
        preference: gamma, what an exemplar counts in the objective, at most 0: the lower, the
            fewer. It weighs against the sum over all rows that are fitted, so a good one grows
            with their number: -5 of 150 unit vectors is -25 of 750. None: inferred.
        squared: whether distances are squared; in the paper they are in section 3.1 and are not in
            section 3.2.
        damping: share of the old message in the new one.
        convergence_window: iterations without a change of exemplars after which they stop.
        memory_budget: MiB for the scores of all rows and compositions; with more, they are made
            anew in each iteration, block by block. 4 GiB hold those of 1000 rows with d = 2.
        sample_size: rows fitted at most; the others go to the nearest composition in use. The
            paper's 150 take a second (d = 2), 300 are a little better. None: all.

    Attributes:
        exemplars_: the row (k,) of each speaker's exemplar; `centroids_` are these rows.
        objective_: the sum that is maximised, over the rows fitted.
        preference_: gamma that was used.
        n_iter_: iterations of the messages; 0 where there was nothing to decide.
        converged_: whether the exemplars settled.
        repaired_: whether the messages' choices contradicted one another.
    """

    preference: float | None = None
    squared: bool = True
    damping: float = 0.65
    set_penalty: float = 0.0
    count_penalty: float = 1.0
    max_iter: int = 200
    convergence_window: int = 15
    memory_budget: int = 4096
    sample_size: int | None = 150

    negative = ("preference",)

    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "preference": (-1.0, -2.0, -3.0, -4.0, -4.5, -5.0, -5.5, -6.0, -7.0)
    }

    _exemplars = np.zeros(0, np.int64)  # rows that are exemplars, as the centroids are numbered

    def _clustered(self, rows: Rows, y: Any, bounds: SpeakerBounds) -> Answer:
        sets, centroids = super()._clustered(rows, y, bounds)
        self.exemplars_ = self._exemplars[sets.appearance]
        return sets, centroids

    def _check_options(self) -> None:
        super()._check_options()
        if self.damping >= 1:
            raise ValueError(f"damping must be less than 1, got {self.damping!r}")
        check_preference(self.preference)

    def _most_rows(self) -> int | None:
        size, most = self.max_set_size, self.sample_size
        if size < LARGE or most is None:
            return most
        while most > size and comb(most, size) * count_orders(size) > MOST_COMPOSITIONS:
            most -= 1
        return most

    def _cluster(
        self,
        rows: Rows,
        criterion: Criterion,
        generator: np.random.Generator,
    ) -> Callable[[SpeakerBounds], Regions]:
        return partial(self._within, rows, criterion)

    def _within(self, rows: Rows, criterion: Criterion, bounds: SpeakerBounds) -> Regions:
        # Copies of a row would tie for ever: one stands for all, and weighs as much.
        _, first, copy_of, counts = np.unique(
            rows, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
        copy_of = copy_of.reshape(-1)
        distinct = rows[first]
        similarity = Similarity(
            distinct,
            counts,
            self.compose if self.max_set_size > 1 else None,
            squared=self.squared,
            set_penalty=self.set_penalty,
        )
        low = min(bounds.low, len(first))
        axes = one_sided_axes(criterion.scatter)
        voices = sure_voices(distinct, axes, low)
        high = min(bounds.high, int(voices.sum()))
        candidates = ExemplarSearch(similarity, self.max_set_size, voices)
        if self.preference is None:
            start, preference = self._search(candidates, criterion, distinct, counts, low, high)
            low = high = len(start)
        else:
            preference = self.preference / similarity.scale
            start = candidates.polish((), preference, low, high)
        found = [start]
        decision = self._decide(similarity, preference)
        chosen = tuple(int(k) for k in decision.exemplars if voices[k])
        # Messages that swing may leave hundreds: taking them away one by one is dear and in vain.
        if len(chosen) <= MOST_EXCHANGED:
            found.append(candidates.polish(chosen, preference, low, high))
        best = min(found, key=lambda e: candidates.cost(e) - preference * len(e))
        self.preference_ = float(preference * similarity.scale)
        self.n_iter_ = decision.n_iter
        self.converged_ = decision.converged
        self.repaired_ = not decision.feasible
        if not self.converged_:
            warn_not_converged("CAP", self.max_iter)
        assignment = candidates.assign(best)
        # More speakers asked for than rows differ: copies become exemplars of themselves.
        copies = np.setdiff1d(np.arange(len(rows)), first)[: max(0, bounds.low - len(first))]
        exemplars = np.concatenate([first[list(best)], copies])
        self._exemplars = self._fitted[exemplars]
        sets = block_diag(assignment.sets, np.eye(len(copies), dtype=bool))
        ids = assignment.ids[copy_of]
        ids[copies] = len(assignment.sets) + np.arange(len(copies))
        self.objective_ = self.preference_ * len(exemplars) - assignment.cost * similarity.scale
        vectors = rows[exemplars].astype(np.float64)
        return Regions(
            ids=ids,
            sets=SpeakerSets(sets),
            centers=compose_sets(self.compose, vectors, sets),
            offsets=float(self.set_penalty) * (sets.sum(axis=1) - 1.0),
            centroids=vectors,
        )

    def _decide(self, similarity: Similarity, preference: float) -> Decision:
        """Pass the messages."""
        n = similarity.n_rows
        if n == 1:
            return Decision(np.zeros(1, dtype=np.int64), True, 0, True)
        compositions = None
        if min(self.max_set_size, n - 1) > 1:
            compositions = CompositionScores(
                similarity, min(self.max_set_size, n - 1), self.memory_budget * MIB
            )
        preferences = preference * (1 + JITTER * np.linspace(0, 1, n))
        messages = Messages(similarity.singles, compositions, preferences, self.damping)
        return pass_messages(messages, self.max_iter, self.convergence_window)

    def _search(
        self,
        candidates: ExemplarSearch,
        criterion: Criterion,
        rows: Rows,
        counts: Int64[np.ndarray, " n"],
        low: int,
        high: int,
    ) -> tuple[Exemplars, float]:
        """Exemplars in the number that the criterion likes best, and a preference for it."""

        def attempt(k: int, previous: Exemplars | None) -> tuple[Partition, Exemplars]:
            start = () if previous is None else previous
            exemplars = candidates.polish(start, 0.0, k, k)
            assignment = candidates.assign(exemplars)
            return Partition(*self._scatter(rows, counts, assignment), k), exemplars

        if low == high:
            exemplars = candidates.polish((), 0.0, low, low)
        else:
            exemplars = search(range(low, high + 1), attempt, criterion)
        # With one exemplar fewer or more, the cost rises or falls by this much.
        cost, k = candidates.cost(exemplars), len(exemplars)
        fall = cost - candidates.add(exemplars)[0] if k < len(rows) else 0.0
        rise = candidates.remove(exemplars)[0] - cost if k > 1 else 4 * fall
        return exemplars, -float(np.sqrt(max(fall, 0.0) * max(rise, 0.0)))

    def _scatter(
        self, rows: Rows, counts: Int64[np.ndarray, " n"], assignment: Assignment
    ) -> tuple[float, Float64[np.ndarray, " m"]]:
        """SSD of the rows around sets of speakers at the mean of their rows, and sets' sizes.

        An exemplar is itself as far from the mean as other rows, so distances from exemplars say
        nothing about the scatter that the criterion knows.
        """
        times = np.repeat(np.arange(len(rows)), counts)
        ids = assignment.ids[times]
        alone = assignment.sets.sum(axis=1) == 1  # every exemplar is alone in its own row
        centroids = cluster_means(rows[times], ids, len(assignment.sets))[alone]
        centroids = centroids[np.argsort(assignment.sets[alone].argmax(axis=1))]
        centers = compose_sets(self.compose, centroids, assignment.sets)
        distances = ((rows[times] - centers[ids]) ** 2).sum(axis=1)
        distances += float(self.set_penalty) * (assignment.sets.sum(axis=1)[ids] - 1)
        sizes = np.bincount(ids, minlength=len(assignment.sets)).astype(np.float64)
        return float(distances.sum()), sizes
