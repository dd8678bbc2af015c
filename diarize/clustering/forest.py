"""The backend `forest`: single linkage under noise, whose trees become sets of speakers.

Stewart, Bach, Llinares-López, Berthet, "Differentiable Clustering with Perturbed Spanning Forests"
(NeurIPS 2023). A tree of single windows chains: a few windows between two voices join them, and
those far from all voices stay alone. How often two windows share a tree under noise is another
similarity, which a single window does not change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64, Int64

from diarize.clustering.base import Regions, SampledClusterer, SpeakerBounds
from diarize.clustering.checks import Rows
from diarize.clustering.constraints import Constraints, Contradiction
from diarize.clustering.geometry import lie_on_sphere
from diarize.clustering.merging import at_most, coarser, merges
from diarize.clustering.reassignment import THRESHOLDS, Reassigner, likeliest, most_base_clusters
from diarize.clustering.selection import Criterion
from diarize.sets import squared_distances

SAMPLES = 40  # B, draws of the noise
TREE_SIZE = 6  # windows in a tree of a draw, on average: about three seconds of a voice
CHUNK = 2**24  # similarities that are drawn at a time, 64 MB in float32


@dataclass(kw_only=True, eq=False, repr=False)
class SpanningForest(SampledClusterer):
    """Spanning forests under noise, whose trees that others compose become sets of these.

    Draws of a maximum spanning forest of noisy similarities say how often two rows share a tree
    (definition 6 of the paper, for the connectivity). Single linkage of that gives trees again;
    those smaller than `min_size` are no speakers, and their rows go to the nearest tree. The two
    nearest trees are joined while the criterion of `selection` gains, and, once they are as few as
    base clusters of `gcr` may be, greedy compositional reassignment finds which are mixtures. The
    bounds on speakers rule.

    `fit` takes `must_link` and `cannot_link`: pairs of row numbers, shape (m, 2). Rows that must be
    linked have the same set of speakers, those that cannot be have different ones.

    Args:
        epsilon: size of the noise, in units of the mean squared distance of two rows.
        min_size: fewest rows of a tree that may be a speaker's.
        threshold: of the reassignment, as for `gcr`.
        sample_size: rows fitted at most, since time and memory grow with their square; of rows
            that must be linked one is among them at least, which the others follow; None: all.
    """

    epsilon: float = 0.05
    min_size: int = 3
    threshold: float | None = None
    count_penalty: float = 1.0
    sample_size: int | None = 2_000

    takes_constraints = True

    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "epsilon": (0.05, 0.02, 0.1, 0.2),
        "min_size": (3, 1, 2, 5),
        "threshold": THRESHOLDS,
    }

    def _sample(self, n: int, size: int, generator: np.random.Generator) -> Int64[np.ndarray, " s"]:
        constraints = self._constraints
        firsts = constraints.firsts
        linked = np.unique(firsts[np.concatenate([constraints.must, constraints.cannot])])
        if not len(linked):
            return super()._sample(n, size, generator)
        if len(linked) > size:
            raise ValueError(
                f"links leave {len(linked)} groups of rows, more than the sample_size of "
                f"{self.sample_size}"
            )
        others = generator.permutation(np.setdiff1d(np.arange(n), linked))
        asked = (self.n_speakers or self.min_speakers or 1) - len(linked)
        alone = others[firsts[others] == others][: max(0, asked)]  # of who is in no group
        drawn = np.concatenate([alone, others[~np.isin(others, alone)]])[: size - len(linked)]
        return np.sort(np.concatenate([linked, drawn]))

    def _cluster(
        self,
        rows: Rows,
        criterion: Criterion,
        generator: np.random.Generator,
    ) -> Callable[[SpeakerBounds], Regions]:
        constraints = self._constraints.among(self._fitted)
        alike = self._connectivity(rows, generator)
        reassigner = Reassigner.of(self, criterion)

        def within(bounds: SpeakerBounds) -> Regions:
            labels = self._trees(rows, alike, constraints, bounds)
            tried = coarser(rows, labels, constraints.cannot, on_sphere=lie_on_sphere(rows))
            few = at_most(most_base_clusters(self.max_set_size, bounds), tried)
            found = reassigner.reassigned(rows, few, bounds)
            allowed = (one for one in found if constraints.allow(one[1].sets[one[0]]))
            best = likeliest(criterion, allowed)
            if best is None and not len(constraints.cannot):
                raise Contradiction(
                    f"rows that must be linked leave {labels.max() + 1} groups, "
                    f"fewer than the {bounds.low} speakers asked for"
                )
            if best is None:
                i, j = self._constraints.cannot[0]
                raise Contradiction(
                    f"rows {i} and {j}, and others, cannot be kept apart with {bounds.high} "
                    "speakers"
                )
            labels, chosen = best
            return chosen.regions(labels)

        return within

    def _trees(
        self,
        rows: Rows,
        alike: Float64[np.ndarray, "n n"],
        constraints: Constraints,
        bounds: SpeakerBounds,
    ) -> Int64[np.ndarray, " n"]:
        """Labels of trees, as many as may be: at least one for each speaker that is asked for."""
        few = most_base_clusters(self.max_set_size, bounds)
        for smallest in (self.min_size, 1):
            most = len(rows) if smallest > 1 else few  # of one row, every row is a tree
            labels, kept = linked_trees(alike, constraints, smallest, most)
            if len(kept) >= bounds.low:
                break
        return attached(alike, labels, kept, min(smallest, len(rows)))

    def _connectivity(
        self, rows: Rows, generator: np.random.Generator
    ) -> Float64[np.ndarray, "n n"]:
        """How often two rows share a tree, M_eps, and among equals how near they are."""
        import torch

        from diarize.clustering.spanning import perturbed_connectivity

        n = len(rows)
        distances = squared_distances(rows, rows.astype(np.float64))
        distances /= distances.mean() or 1.0
        if n == 1:
            return distances
        similarity = torch.from_numpy(-distances).float()
        noise = torch.Generator().manual_seed(int(generator.integers(2**31)))
        at_once = max(1, CHUNK // n**2)
        total = np.zeros((n, n))
        for begin in range(0, SAMPLES, at_once):
            draws = min(at_once, SAMPLES - begin)
            shared = perturbed_connectivity(
                similarity, max(1, n // TREE_SIZE), self.epsilon, draws, noise
            )
            total += draws * shared.numpy().astype(np.float64)
        return total / SAMPLES - distances / (SAMPLES * (1 + distances.max()))


def linked_trees(
    alike: Float64[np.ndarray, "n n"], constraints: Constraints, smallest: int, most: int
) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " kept"]]:
    """Cut single linkage where it has as many trees of some size as may be, and at most `most`.

    That is Kruskal's algorithm with the changes of section 9.1 of the paper: rows that must be
    linked come first, and no edge joins trees that hold rows that must not be linked. A tree counts
    that has `smallest` rows, or one that must not be linked to another.

    Returns:
        A tree for each row, and the trees that count.
    """
    n = len(alike)
    must = constraints.groups
    forced = -alike.max()
    costs = np.where(must[:, None] == must, forced - 1, -alike)
    i, j = constraints.cannot.T
    costs[i, j] = costs[j, i] = np.inf
    bound = np.zeros(n, bool)
    bound[constraints.cannot] = True
    labels, size = np.arange(n), np.ones(n, np.int64)
    answer: tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " kept"]] | None = None

    def nearest(one: int, other: int, others: np.ndarray) -> np.ndarray:
        return np.minimum(costs[one, others], costs[other, others])

    def counted() -> Int64[np.ndarray, " kept"]:
        return np.flatnonzero((size >= min(smallest, n)) | (bound & (size > 0)))

    for one, other, cost in merges(costs, nearest):
        kept = counted()
        if cost >= forced and 0 < len(kept) <= most and (not answer or len(kept) > len(answer[1])):
            answer = labels.copy(), kept
        labels[labels == other] = one
        size[one] += size[other]
        bound[one] |= bound[other]
        size[other], bound[other] = 0, False
    kept = counted()
    if answer is None or answer[1].size < len(kept) <= most:  # or more trees must be kept apart
        answer = labels, kept
    return answer


def attached(
    alike: Float64[np.ndarray, "n n"],
    labels: Int64[np.ndarray, " n"],
    kept: Int64[np.ndarray, " kept"],
    smallest: int,
) -> Int64[np.ndarray, " n"]:
    """Go on with the same linkage, but never join two trees that count: all rows come to one.

    Trees that become `smallest` rows on the way count from then on.

    Returns:
        A tree for each row, numbered from 0.
    """
    trees, labels, size = np.unique(labels, return_inverse=True, return_counts=True)
    counted = np.isin(trees, kept)
    order = labels.argsort(kind="stable")
    begins = size.cumsum() - size
    nearest = np.maximum.reduceat(alike[np.ix_(order, order)], begins, axis=0)
    costs = -np.maximum.reduceat(nearest, begins, axis=1)
    costs[np.ix_(counted, counted)] = np.inf

    def join(stays: int, goes: int, others: np.ndarray) -> np.ndarray:
        size[stays] += size[goes]
        counted[stays] |= counted[goes] or size[stays] >= smallest
        apart = counted[stays] & counted[others]
        return np.where(apart, np.inf, np.minimum(costs[stays, others], costs[goes, others]))

    for stays, goes, _ in merges(costs, join):
        labels[labels == goes] = stays
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)
