"""Who can be heard live: what `links` has found, corrected by what was settled with hindsight.

`links` never goes back: two voices that it once took for one stay one. A pass over all that was
heard tells them apart, so that from then on its speakers are decoded among, and clusters of `links`
only where they lie far from all sets of these: somebody who came later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float64

from diarize.clustering.links import LiveCluster
from diarize.sets import Speakers, squared_distances

MIN_LIVE = 4  # windows that a cluster must have before it is taken for a speaker
NOVEL = 0.7  # squared distance from all sets of settled speakers from which a voice is another

Voices = Mapping[str, Float64[np.ndarray, " p"]]


class Cast:
    """The clusters among which is decoded, each with an id that lasts.

    Args:
        nobody: no speakers yet, but where sets of them would lie.
    """

    def __init__(self, nobody: Speakers) -> None:
        self._nobody = nobody
        self._settled: list[LiveCluster] = []
        self._ids: dict[str, int] = {}  # of the speakers that were settled
        self._places: Float64[np.ndarray, "m p"] | None = None  # of their sets

    def settle(self, voices: Voices, shared: Mapping[int, Mapping[str, float]]) -> None:
        """Decode among these speakers from now on.

        A speaker takes over the id under which most of its time was said, if no other speaker has
        more of it; otherwise it has one of its own, below zero.

        Args:
            voices: where each settled speaker lies.
            shared: seconds that each id shares with each settled speaker.
        """
        from scipy.optimize import linear_sum_assignment

        new = [name for name in voices if name not in self._ids]
        free = [number for number in shared if number not in self._ids.values()]
        times = np.array([[shared[number].get(name, 0.0) for number in free] for name in new])
        times = times.reshape(len(new), len(free))
        for row, column in zip(*linear_sum_assignment(-times), strict=True):
            if times[row, column] > 0:
                self._ids[new[row]] = free[column]
        for name in new:
            self._ids.setdefault(name, -1 - len(self._ids))
        self._settled = [LiveCluster(self._ids[name], 0, place) for name, place in voices.items()]
        if self._settled:
            speakers = replace(self._nobody, centroids=np.stack([*voices.values()]))
            self._places = speakers.places(speakers.sets())  # (m, p)

    def of(self, clusters: Sequence[LiveCluster]) -> list[LiveCluster]:
        """Who can be heard, given the clusters of `links`; somebody, if there are any.

        Settled speakers come first, then the largest clusters.
        """
        largest = sorted(clusters, key=lambda cluster: (-cluster.size, cluster.id))
        known = [cluster for cluster in largest if cluster.size >= MIN_LIVE]
        if self._places is None:
            return known or largest[:1]
        taken = {cluster.id for cluster in self._settled}
        others = [cluster for cluster in known if cluster.id not in taken]
        if others:
            centroids = np.stack([cluster.centroid for cluster in others])
            gaps = squared_distances(centroids, self._places).min(axis=1)
            others = [c for c, gap in zip(others, gaps, strict=True) if gap > NOVEL]
        return [*self._settled, *others]
