"""Links: every vector is answered at once, and the clusters behind the answers improve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float64

from diarize.clustering.base import Answer, Clusterer, SpeakerBounds
from diarize.clustering.checks import Rows, check_integer, check_rows
from diarize.clustering.links.graph import Unit
from diarize.clustering.links.settlement import settle, single_out
from diarize.clustering.links.stream import LinkStream, Place
from diarize.clustering.links.thresholds import Thresholds
from diarize.sets import SpeakerSets, to_sphere

BLOCK = 4096
"""Rows that are brought to the sphere at a time."""


class LiveCluster(NamedTuple):
    """A cluster as it is now."""

    id: int
    size: int  # vectors
    centroid: Float64[np.ndarray, " p"]


@dataclass(kw_only=True, eq=False, repr=False)
class Links(Clusterer):
    """Links: online clustering of unit vectors that answers each of them at once.

    Rows are taken in order and by their direction alone; all zero rows share one direction, that
    of equal values. `partial_fit` gives the ids of a row's clusters at once, and never changes an
    answer; the bounds on speakers cannot bind it, since they speak of the end. `fit` replays its
    rows as a stream and then says with hindsight what it came to, within the bounds.

    The clusters behind the answers change. When two become one, the id of the one with more
    vectors lives on and answers for the other; when one falls apart, the part with more vectors
    keeps the id and the other gets a new one. No id is ever used twice.

    Args:
        T_c: cosine of a vector and the center of its cluster.
        T_s: cosine from which on a vector belongs to a subcluster.
        T_p: cosine that two large subclusters of one cluster must reach; T_c^2 or more.
        min_size: vectors of a cluster that may be part of a composition, and that counts as a
            speaker in the end where any has as many.
        max_subclusters: to make room for more, the smallest is merged into its nearest.

    Attributes:
        answers_: after `fit`, the ids that each row was answered with at once.

    Source: Mansfield et al., "Links: A High-Dimensional Online Clustering Method". The
    compositions, and that subclusters merge without an edge between them, are ours.
    """

    T_c: float = 0.8
    T_s: float = 0.85
    T_p: float = 0.9
    min_size: int = 4
    max_subclusters: int = 1000

    # Windows of 2 s of one voice (conversations of dev-a) have cosines of 0.75 to 0.84 with each
    # other (middle half) and of 0.88 to 0.92 with their center; those of two voices, of 0.35 to
    # 0.54. The defaults, one of 29 combinations, are between what is best with hindsight, which is
    # higher, and what is best live, which is lower (recipes/streaming/RESULTS.md).
    negative = ("T_c", "T_s", "T_p")  # `Thresholds` looks at them

    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "T_c": (0.8, 0.65, 0.7, 0.75, 0.85, 0.9),
        "T_s": (0.85, 0.75, 0.8, 0.88, 0.9),
        "T_p": (0.9, 0.85, 0.93, 0.95),
    }

    def partial_fit(self, X: Any, y: Any = None) -> Any:
        """Take rows in, after all those that came before.

        Args:
            X: one vector of shape (p,), or rows of shape (n, p).
            y: not used.

        Returns:
            Of a vector, the ascending ids of its clusters; of rows, a list of these.

        Raises:
            ValueError: X or an option cannot be used, or X has another dimension than before.
        """
        alone = np.ndim(X) == 1
        rows = check_rows(np.asarray(X)[None] if alone else X)
        if not hasattr(self, "_stream"):
            self._stream = self._begin(rows.shape[1])
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {rows.shape[1]} features, but Links is expecting "
                f"{self.n_features_in_} features as input"
            )
        answers = [self._stream.answer(self._stream.push(x)) for x in unit_rows(rows)]
        return answers[0] if alone else answers

    def live_clusters(self) -> list[LiveCluster]:
        """The clusters as they are now, by id."""
        if not hasattr(self, "_stream"):
            return []
        graph = self._stream.graph
        return [
            LiveCluster(cluster, graph.sizes[cluster], to_sphere(graph.totals[cluster]))
            for cluster in sorted(graph.sizes)
        ]

    def replaced_ids(self) -> dict[int, int]:
        """Of every id whose cluster was taken in by another, the id of that one."""
        replaced = self._stream.graph.replaced if hasattr(self, "_stream") else []
        return {gone: stays for gone, stays in enumerate(replaced) if gone != stays}

    def _check_options(self) -> None:
        super()._check_options()
        check_integer("max_subclusters", self.max_subclusters, 2)
        Thresholds(self.T_c, self.T_s, self.T_p)

    def _begin(self, dimension: int) -> LinkStream:
        """An empty stream with the present options."""
        self._check_options()
        self.n_features_in_ = dimension
        return LinkStream(
            Thresholds(self.T_c, self.T_s, self.T_p),
            dimension,
            compose=self.compose,
            max_set_size=self.max_set_size,
            min_size=self.min_size,
            max_subclusters=self.max_subclusters,
        )

    def _prepare(
        self, rows: Rows, y: Any, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Callable[[SpeakerBounds], Answer]:
        self._stream = self._begin(rows.shape[1])
        self.answers_ = []
        places = []
        for x in unit_rows(rows):
            places.append(self._stream.push(x))
            self.answers_.append(self._stream.answer(places[-1]))
        return partial(self._within, rows, places)

    def _within(self, rows: Rows, places: Sequence[Place], bounds: SpeakerBounds) -> Answer:
        """What it came to, with the rows at these places."""
        n, p = rows.shape
        if n == 0:
            return SpeakerSets(np.zeros((0, 0))), np.zeros((0, p))
        graph = self._stream.graph
        settlement = settle(
            graph,
            compose=self.compose,
            max_set_size=self.max_set_size,
            min_size=self.min_size,
            low=bounds.low,
            high=bounds.high,
        )
        members = {place: settlement.speakers_at(place, graph) for place in set(places)}
        membership = np.zeros((n, len(settlement.centroids)), dtype=bool)
        for row, place in zip(membership, places, strict=True):
            row[list(members[place])] = True
        if len(settlement.centroids) < bounds.low:
            every = np.stack(list(unit_rows(rows)))  # few rows: fewer speakers cannot be found
            membership, centroids = single_out(every, membership, settlement.centroids, bounds.low)
            return SpeakerSets(membership), centroids
        return SpeakerSets(membership), settlement.centroids


def unit_rows(rows: Rows) -> Iterator[Unit]:
    """The rows one by one, brought to the sphere."""
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK].astype(np.float64)
        block[~block.any(axis=1)] = 1.0  # no direction: all of them get the same
        block /= np.abs(block).max(axis=1, keepdims=True)  # no square leaves the range
        yield from to_sphere(block)
