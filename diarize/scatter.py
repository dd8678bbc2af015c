"""How vectors of one speaker scatter and how alike two are, where that is known beforehand.

An embedding knows it of its own vectors and brings it with its weights; a clustering is told, and
knows of no embedding.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Float64

NARROW = 0.7
"""Distances at which voices are told apart over a telephone, where these lie nearer to each other,
as a share of those elsewhere; chosen on telephone conversations of dev-a."""

DOUBLED = 1.1
"""By how much more a voice is taken to scatter there by an embedding of which nobody knows what is
alike, so that nothing else joins one voice that is doubled."""

ONE_SIDED = 0.4
"""Length of the mean of unit vectors from which on they lie on one side; that of f is 0.62."""


@dataclass(frozen=True, eq=False)
class Axes:
    """The directions in which speakers differ most, and how far one of them scatters along these.

    Attributes:
        mean: of all speakers.
        axes: orthonormal, the one along which speakers differ most first.
        within: covariance of one speaker's vectors along the axes.
        total: covariance of all vectors along them.
    """

    mean: Float64[np.ndarray, " p"]
    axes: Float64[np.ndarray, "d p"]
    within: Float64[np.ndarray, "d d"]
    total: Float64[np.ndarray, "d d"]

    def __post_init__(self) -> None:
        d, p = self.axes.shape
        if not self.mean.shape == (p,) or not self.within.shape == self.total.shape == (d, d):
            raise ValueError("axes, mean and covariances that do not fit each other")
        if not all(np.isfinite(values).all() for values in vars(self).values()):
            raise ValueError("axes that are not finite")

    @property
    def one_sided(self) -> bool:
        """Whether all speakers lie on one side, so that `along_mean` tells voices from the rest."""
        return bool(np.linalg.norm(self.mean) >= ONE_SIDED)

    def along_mean(self, vectors: Float[np.ndarray, "*n p"]) -> Float64[np.ndarray, "*n"]:
        """How far unit vectors lie on the side of all speakers, 1 on average; mixtures far less."""
        return np.asarray(vectors @ (self.mean / (self.mean @ self.mean)), dtype=np.float64)


@dataclass(frozen=True)
class Scatter:
    """What is known of unit vectors that one speaker's lie around.

    Attributes:
        variance: sigma^2, mean squared distance from the speaker's centroid.
        dimension: D, in how many dimensions they scatter.
        rows_per_observation: r, how many neighbouring rows say as much as one that stands alone;
            windows that share audio say little new.
        most_rows: rows that are believed at most, among up to ten speakers. Beyond them a recording
            says no more about how alike two halves of one voice are, and a speaker must hold a
            share of it, however long it is. None: all are.
        alike: cosine of two centroids from which on they are one speaker's. None: however near they
            are, they may be two.
        axes: for clusterings that work in few dimensions; None: they are not known.
    """

    variance: float
    dimension: float
    rows_per_observation: float = 1.0
    most_rows: int | None = None
    alike: float | None = None
    axes: Axes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        numbers = (self.variance, self.dimension, self.rows_per_observation, self.most_rows or 1)
        if not all(0 < number < np.inf for number in numbers):
            raise ValueError(f"numbers of a scatter must be finite and above 0, got {numbers}")
        if self.alike is not None and not -1 <= self.alike <= 1:
            raise ValueError(f"alike is a cosine, got {self.alike}")

    def denser(self, times: float) -> Scatter:
        """As it is of windows of which so many times as many lie in the same time; or fewer."""
        most = None if self.most_rows is None else max(1, round(self.most_rows * times))
        rows = max(1.0, self.rows_per_observation * times)
        return replace(self, rows_per_observation=rows, most_rows=most)

    def sampled(self, share: float) -> Scatter:
        """As it is of so large a share of the rows, drawn by chance: as many are believed."""
        return self.denser(max(share, 1 / self.rows_per_observation))

    def within(self, narrow: bool) -> Scatter:
        """As it is in a narrow band, like a telephone's, or elsewhere: what is alike there."""
        if not narrow:
            return self
        if self.alike is None:
            return replace(self, variance=DOUBLED * self.variance)
        return replace(self, alike=1 - NARROW * (1 - self.alike))


@dataclass(frozen=True)
class Likeness:
    """What the cosine of two centroids says of whether they are one person's.

    The log odds, if that is as probable as not beforehand, are offset + cosine * (the cosine) +
    scarcity * (1 / seconds of speech of the one + 1 / seconds of the other): the less speech a
    voice rests on, the less alike are two of one person, and two of two persons.

    Attributes:
        offset, cosine, scarcity: factors. Fitted to speakers found in conversations of dev-a, and
            their clips, by `recipes/conversations/known_voices.py`, as the thresholds were.
        known: least probability that a speaker is the person of some clips.
        same_person: least probability that speakers found in two recordings are one person.
    """

    offset: float = -51.23
    cosine: float = 58.9
    scarcity: float = 6.96
    known: float = 0.85
    same_person: float = 0.93

    def __post_init__(self) -> None:
        if not all(np.isfinite(number) for number in vars(self).values()):
            raise ValueError("a likeness that is not finite")
        for least in (self.known, self.same_person):
            if not 0 < least < 1:
                raise ValueError(f"the least probability of one person is no {least}")

    def within(self, narrow: bool) -> Likeness:
        """As it is in a narrow band, like a telephone's, or elsewhere."""
        if not narrow:
            return self
        steeper = self.cosine / NARROW
        return replace(self, offset=self.offset + self.cosine - steeper, cosine=steeper)

    def log_odds(self, cosines: Any, scarcity: Any) -> Any:
        """Of centroids that are so alike, and rest on so little speech: numbers or arrays.

        Args:
            cosines: of two centroids.
            scarcity: 1 / seconds of the one + 1 / seconds of the other.
        """
        return self.offset + self.cosine * cosines + self.scarcity * scarcity
