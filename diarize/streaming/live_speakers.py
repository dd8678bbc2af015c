"""Live speakers: what the decoding of a stream chooses from, and `links` as a way to find them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float32, Float64

from diarize.clustering import make
from diarize.clustering.composition import most_speakers
from diarize.clustering.links import Links
from diarize.sets import SpeakerSets

MOST_STATES = 200  # sets that are decoded among
LEAST_SIZE = 4  # windows that a cluster of `links` must have before it is taken for a speaker


@dataclass(frozen=True, eq=False)
class LiveSpeakers:
    """Speakers as they are now, and their sets.

    Attributes:
        ids: of the speakers; each lasts as long as the stream, and is never used twice.
        states: the sets that are decoded among.
        places: where these lie.
    """

    ids: tuple[int, ...]
    states: SpeakerSets
    places: Float64[np.ndarray, "m p"]


@runtime_checkable
class LiveClustering(Protocol):
    """Finds speakers while windows come.

    Attributes:
        fine: whether it takes the windows that are decoded; False: those that hindsight clusters.
    """

    fine: bool

    @property
    def became(self) -> Mapping[int, int]:
        """Of two speakers that turned out to be one, whom the one that went became."""

    def take(self, rows: Float32[np.ndarray, "n p"]) -> None:
        """Take in the windows that follow those of the last call."""

    def speakers(self) -> LiveSpeakers:
        """The speakers as they are now, once a window was taken in."""


class LiveLinks:
    """The clusters of `links`, which answers each window at once and never goes back."""

    fine = False

    def __init__(self, dimension: int, **options: Any) -> None:
        self._links: Links = make("links", **options)
        nothing = np.zeros((0, dimension), np.float32)
        self._nobody = make("links", **options).fit(nothing).speakers()  # refuses options at once

    @property
    def became(self) -> Mapping[int, int]:
        """Of two clusters that turned out to be one, which one took the other in."""
        return self._links.replaced_ids()

    def take(self, rows: Float32[np.ndarray, "n p"]) -> None:
        """Take in the windows that follow those of the last call."""
        self._links.partial_fit(rows)

    def speakers(self) -> LiveSpeakers:
        """The largest clusters, and somebody in any case."""
        clusters = sorted(self._links.live_clusters(), key=lambda one: (-one.size, one.id))
        known = [one for one in clusters if one.size >= LEAST_SIZE] or clusters[:1]
        known = known[: most_speakers(len(known), self._nobody.largest, MOST_STATES)]
        speakers = replace(self._nobody, centroids=np.stack([one.centroid for one in known]))
        states = speakers.sets()
        return LiveSpeakers(tuple(one.id for one in known), states, speakers.places(states))
