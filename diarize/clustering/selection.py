"""How many speakers there are, when nobody says: one criterion for all backends.

It is the integrated classification likelihood (ICL; Biernacki, Celeux, Govaert 2000) of a mixture
of equal round Gaussians, lower is better. Nothing is known of their variance sigma^2, and it is
profiled out:

    n log(SSD / (n - k))  +  (2 / D) n H  +  k log(n)

SSD is the sum of squared distances of the n rows from the centers of their sets, H the entropy of
how the rows spread over the sets, k the number of speakers. While a homogeneous cloud of dimension
D is being split, its SSD falls to about exp(-(2 / D) H) of what it was, whatever its share: so the
first two terms do not reward splitting one speaker, and reward telling two apart. The last term is
the evidence that a speaker must bring, which decides where rows are few.

Of unit vectors whose scatter around their speaker is known beforehand (`Scatter`), the same is, in
units of squared distance:

    SSD  +  (2 sigma^2 / D) n H  +  k r sigma^2 log(n / r)

r being the number of neighbouring rows that count as one observation, fewer in a sample, whose rows
are further apart; of many rows those that the scatter believes at most are believed, as many more
as speakers are more than a `CROWD`, and few of those that say again what another one says: one
voice whose words come again and again would fall into as many speakers as it has words.

One voice that is heard for long falls into groups of its own, by what is said and how: groups that
are tight and lie apart, but near. While the nearest two of the centroids found are `alike`,
whatever the backend, the rows are clustered anew into one speaker fewer (`Clusterer.fit`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float, Float64, Int64

from diarize.clustering.geometry import cluster_means, lie_on_sphere
from diarize.clustering.known import known_of
from diarize.repetition import effective_rows
from diarize.scatter import Scatter

DIMENSION = 25.0
"""D, at most, of rows of which nothing is known: those with many columns rarely scatter in all."""

FLOOR = 1e-12
"""Share of the rows' variance below which a squared distance is rounding, beside what their own
type rounds."""

BELIEVED = 1.5
"""Rows of one sound that are believed, on average: so a third of all may come again."""

CROWD = 10
"""Speakers for whom the rows that a scatter believes are enough: of more, each must still be borne
out by as many of his own."""

PATIENCE = 2
"""Larger numbers of speakers tried without improvement before the search stops."""

Found = TypeVar("Found")


class Partition(NamedTuple):
    """What the criterion must know of a clustering.

    Attributes:
        ssd: sum of squared distances of the rows from the centers of their sets.
        counts: rows of each set.
        k: speakers.
    """

    ssd: float
    counts: Float64[np.ndarray, " sets"]
    k: int

    @classmethod
    def of(cls, rows: Float[np.ndarray, "n p"], labels: Int64[np.ndarray, " n"]) -> Partition:
        """Of clusters 0 to k - 1, none of them empty, each around the mean of its rows."""
        k = int(labels.max()) + 1
        ssd = float(((rows - cluster_means(rows, labels, k)[labels]) ** 2).sum())
        return cls(ssd, np.bincount(labels).astype(np.float64), k)


@dataclass(frozen=True)
class Criterion:
    """The criterion for one set of rows."""

    n_rows: int
    dimension: float  # D
    floor: float  # least mean squared distance that can be told from rounding
    scatter: Scatter | None = None  # what is known of them
    penalty: float = 1.0  # factor on the last two terms: above 1 fewer speakers, below 1 more
    rows: Float[np.ndarray, "n p"] | None = field(default=None, repr=False, compare=False)
    """All of them, also for a sample, in which it cannot be seen what comes again."""
    whole: Scatter | None = None  # what is known of all, for a sample

    @classmethod
    def of(
        cls, rows: Float[np.ndarray, "n p"], penalty: float, scatter: Scatter | None = None
    ) -> Criterion:
        """For these rows, and what is known of them."""
        energy = float(np.einsum("np,np->", rows, rows, dtype=np.float64)) / len(rows)
        mean = rows.mean(axis=0, dtype=np.float64)
        spread = max(energy - float(mean @ mean), 0.0)
        rounding = 8 * float(np.finfo(rows.dtype).eps)
        floor = FLOOR * spread + rounding**2 * energy
        known = known_of(rows, scatter)
        p = max(1, rows.shape[1] - lie_on_sphere(rows))  # unit vectors have one less
        dimension = min(float(p), DIMENSION if known is None else known.dimension)
        return cls(len(rows), dimension, floor, known, penalty, rows)

    def of_sample(self, size: int) -> Criterion:
        """The same for so many of the rows, drawn by chance."""
        known = self.scatter and self.scatter.sampled(size / self.n_rows)
        return replace(self, n_rows=size, scatter=known, whole=self.whole or self.scatter)

    @cached_property
    def effective_rows(self) -> float:
        """How many rows there would be if no sound came again; looked for when first asked."""
        if self.rows is None or self.scatter is None:
            return np.inf
        whole = self.whole or self.scatter
        fewer = self.scatter.rows_per_observation / whole.rows_per_observation
        return fewer * effective_rows(self.rows, whole)

    def likeliest(self, partitions: Sequence[Partition]) -> int:
        """Which of these it likes best; of those level, the first.

        Where that has more speakers than a `CROWD`, all are judged once more by so many more rows.
        """
        crowd = 1.0
        while True:
            best = int(np.argmin([self(*partition, crowd) for partition in partitions]))
            found = partitions[best].k / CROWD
            if found <= crowd:
                return best
            crowd = found

    def __call__(
        self, ssd: float, counts: Float64[np.ndarray, " sets"], k: int, crowd: float = 1.0
    ) -> float:
        """Value of a clustering with k speakers and sets of these sizes; lower is better.

        `crowd`: so many times as many rows are believed.
        """
        n = self.n_rows
        shares = counts[counts > 0] / n
        spread = -2 / self.dimension * n * float((shares * np.log(shares)).sum())
        if self.scatter is not None:
            r, most = self.scatter.rows_per_observation, self.scatter.most_rows or n
            m = min(n, crowd * most, BELIEVED * self.effective_rows)
            evidence = k * r * np.log(max(m / r, np.e))
            fit = m / n * ssd
            return float(fit + self.penalty * self.scatter.variance * (m / n * spread + evidence))
        # With fewer than two rows each, hardly any scatter is left to judge by.
        if 2 * k > n:
            return 0.0 if n == 1 else np.inf
        fit = n * np.log(max(ssd / (n - k), self.floor) or 1.0)
        return float(fit + self.penalty * (spread + k * np.log(n)))


def search(
    numbers: Iterable[int],
    attempt: Callable[[int, Found | None], tuple[Partition, Found]],
    criterion: Criterion,
) -> Found:
    """Try ascending numbers of speakers until none has been better for a while; the best one.

    `attempt(k, previous)` clusters into k speakers, knowing what the number before gave, and
    answers what the criterion must know, and what it found.
    """
    partitions: list[Partition] = []
    found: list[Found] = []
    best = 0
    for number in numbers:
        partition, one = attempt(number, found[-1] if found else None)
        partitions.append(partition)
        found.append(one)
        best = criterion.likeliest(partitions)
        if len(found) - 1 - best > PATIENCE:
            break
    return found[best]
