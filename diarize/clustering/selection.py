"""How many speakers there are, when nobody says: one criterion for all backends.

It is the integrated classification likelihood (ICL; Biernacki, Celeux, Govaert 2000) of a mixture
of equal round Gaussians, per row and dimension, lower is better:

    log(SSD / n)  +  (2 / D) H  +  k log(n_eff) / n_eff

SSD is the sum of squared distances of the rows from the centers of their sets, H the entropy of
how the rows spread over the sets, k the number of free centroids. In high resolution the squared
distance of any homogeneous cloud falls as exp(-2 H / D) while it is being split, D its dimension:
so the first two terms do not reward splitting one voice, whatever its share, and reward
telling two voices apart. The last term asks for a least amount of evidence.

An embedding's coordinates depend on each other, and so do neighbouring windows: D and n_eff are
smaller than p and n. The constants below say by how much; they are tuned on embeddings of speech.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from jaxtyping import Float64

EFFECTIVE_DIMENSION = 8.0
"""D: at how many dimensions a voice's windows look scattered when they are split."""

ROWS_PER_OBSERVATION = 4.0
"""n / n_eff: windows that count as one observation, since neighbours share audio."""

PRIOR_ROWS = 2.0
PRIOR_SHARE = 0.3
"""Rows that are believed in before any is seen, and their squared distance from their center as a
share of the mean squared norm: keeps few rows, and rows that coincide, from looking like many
speakers."""

PATIENCE = 2
"""Larger numbers of speakers tried without improvement before the search stops."""


@dataclass(frozen=True)
class Criterion:
    """The criterion for one set of rows.

    Attributes:
        n_rows: n.
        energy: mean squared norm of the rows.
        dimension: p.
        penalty: factor on the two penalties; above 1 fewer speakers, below 1 more.
    """

    n_rows: int
    energy: float
    dimension: int
    penalty: float = 1.0

    @classmethod
    def of(cls, rows: np.ndarray, penalty: float) -> Criterion:
        """For these rows."""
        energy = float(np.einsum("np,np->", rows, rows, dtype=np.float64)) / len(rows)
        return cls(len(rows), energy, rows.shape[1], penalty)

    def __call__(self, ssd: float, counts: Float64[np.ndarray, " sets"], n_centroids: int) -> float:
        """Value for a clustering with these sizes of sets, lower is better."""
        prior = PRIOR_ROWS * PRIOR_SHARE * (self.energy or 1.0)
        fit = np.log((ssd + prior) / (self.n_rows + PRIOR_ROWS))
        shares = counts[counts > 0] / self.n_rows
        entropy = -float((shares * np.log(shares)).sum())
        evidence = max(self.n_rows / ROWS_PER_OBSERVATION, np.e)
        dimension = min(self.dimension, EFFECTIVE_DIMENSION)
        spread = 2 / dimension * entropy
        return float(fit + self.penalty * (spread + n_centroids * np.log(evidence) / evidence))


Found = TypeVar("Found")


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
