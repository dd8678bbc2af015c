"""How many speakers there are, when nobody says: one criterion for all backends.

It is the integrated classification likelihood (ICL; Biernacki, Celeux, Govaert 2000) of a mixture
of equal round Gaussians, in units of squared distance, lower is better. For unit vectors, whose
scatter around their speaker is known beforehand (sigma^2):

    SSD  +  (2 sigma^2 / D) n H  +  k r sigma^2 log(n / r)

SSD is the sum of squared distances of the n rows from the centers of their sets, H the entropy of
how the rows spread over the sets, k the number of speakers, r the number of neighbouring windows
that count as one observation. While a homogeneous cloud of dimension D is being split, its SSD
falls by about (2 sigma^2 / D) n H whatever its share: so the first two terms do not reward
splitting one voice, and reward telling two voices apart. The last term is the evidence that a
speaker must bring, which decides in short recordings; of long ones `MOST_ROWS` rows are believed.

For other rows nothing is known of sigma^2, and it is profiled out of the same likelihood:

    n log(SSD / (n - k))  +  (2 / D) n H  +  k log(n)

The constants are tuned on voice embeddings, windows of 2 s every 0.5 s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from jaxtyping import Float, Float64

from diarize.clustering.assignment import lie_on_sphere

SCATTER = 0.38
"""sigma^2: mean squared distance of unit vectors from the centroid of their speaker."""

DIMENSION = 25.0
"""D: in how many dimensions a voice scatters; at most p."""

ROWS_PER_OBSERVATION = 3.0
"""r: neighbouring windows share audio and say little new."""

MOST_ROWS = 400
"""Rows that are believed at most. Beyond them a recording says no more about how alike two halves
of one voice are, and a speaker must hold a share of it (about 2 %), however long it is."""

FLOOR = 1e-12
"""Share of the rows' mean squared norm below which a squared distance is rounding."""

PATIENCE = 2
"""Larger numbers of speakers tried without improvement before the search stops."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class Criterion:
    """The criterion for one set of rows.

    Attributes:
        n_rows: n.
        dimension: D.
        floor: least mean squared distance that can be told from rounding.
        on_sphere: whether the rows are unit vectors.
        penalty: factor on the last two terms: above 1 fewer speakers, below 1 more.
    """

    n_rows: int
    dimension: float
    floor: float
    on_sphere: bool
    penalty: float = 1.0

    @classmethod
    def of(cls, rows: Float[np.ndarray, "n p"], penalty: float) -> Criterion:
        """For these rows."""
        energy = float(np.einsum("np,np->", rows, rows, dtype=np.float64)) / len(rows)
        dimension = min(float(rows.shape[1]), DIMENSION)
        return cls(len(rows), dimension, FLOOR * energy, lie_on_sphere(rows), penalty)

    def __call__(self, ssd: float, counts: Float64[np.ndarray, " sets"], k: int) -> float:
        """Value of a clustering with k speakers and sets of these sizes; lower is better."""
        n = self.n_rows
        shares = counts[counts > 0] / n
        spread = -2 / self.dimension * n * float((shares * np.log(shares)).sum())
        if self.on_sphere:
            r, m = ROWS_PER_OBSERVATION, min(n, MOST_ROWS)
            evidence = k * r * np.log(max(m / r, np.e))
            return float(m / n * ssd + self.penalty * SCATTER * (m / n * spread + evidence))
        # As many centroids as rows leave no scatter to be judged by.
        if k >= n:
            return 0.0 if n == 1 else np.inf
        fit = n * np.log(max(ssd / (n - k), self.floor) or 1.0)
        return float(fit + self.penalty * (spread + k * np.log(n)))


def search(
    numbers: Iterable[int], attempt: Callable[[int, Found | None], tuple[float, Found]]
) -> Found:
    """Try ascending numbers of speakers until none has been better for a while; the best one.

    `attempt(k, previous)` clusters into k speakers, knowing what the number before gave, and
    answers the criterion and what it found.
    """
    best: tuple[float, Found] | None = None
    found: Found | None = None
    idle = 0
    for number in numbers:
        value, found = attempt(number, found)
        if best is None or value < best[0]:
            best, idle = (value, found), 0
        else:
            idle += 1
            if idle > PATIENCE:
                break
    assert best is not None
    return best[1]
