"""The backend `dpgmm`: the sampler's clusters, made into sets of speakers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64

from diarize.clustering.base import Regions, SampledClusterer, SpeakerBounds
from diarize.clustering.checks import Rows, check_number
from diarize.clustering.dpgmm.estimator import DPGMM, INITS
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.partitions import Counted, medoid
from diarize.clustering.known import known_of
from diarize.clustering.reassignment import THRESHOLDS, Reassigner, most_looked_at
from diarize.clustering.selection import Criterion
from diarize.scatter import Scatter

AXES = 20
"""Dimensions that are kept at most, as many as in the paper (section 5.2)."""

LEAST_AXES, ROWS_PER_AXIS = 3, 60
"""Of rows whose scatter is unknown: a cluster's covariance must be told from its rows alone."""

CERTAINTY = 40.0
"""How many rows the known scatter of a speaker is worth, twice as many as it has dimensions."""


@dataclass(kw_only=True, eq=False, repr=False)
class SpeakerDPGMM(SampledClusterer):
    """Dirichlet-process Gaussian mixture, whose clusters that others compose become sets of these.

    The rows are reduced to 20 dimensions by the axes along which speakers are known to differ
    (`scatter`), or else to as many of their own as they are enough for. The sampler finds
    clusters, mixtures included; greedy compositional reassignment (`gcr`) finds what they stand
    for. Where the number of speakers is given or bounded, it rules: more or fewer clusters are
    reassigned, and clusters are merged or split, the most probable by the Hastings ratio first,
    as long as that does not suffice.

    Of few rows, chains end in different places by chance. So there are several, and the one counts
    whose partition differs least from those of the others.

    Args:
        log_alpha: logarithm of the Dirichlet process's concentration: lower, fewer clusters.
            Neighbouring windows share audio, so clusters must bring more evidence than if
            rows were independent; tuned on conversations of dev-a.
        init: how sub-clusters begin: random, kmeans or splitnet.
        n_iter: iterations of a chain.
        n_chains: chains that are sampled.
        threshold: of the reassignment, as for `gcr`.

    Attributes:
        n_clusters_: clusters of the chain that counts.
        log_posterior_: of its iterations.
    """

    log_alpha: float = -20.0
    init: str = "kmeans"
    n_iter: int = 100
    n_chains: int = 5
    threshold: float | None = None
    sample_size: int | None = 20_000

    negative = ("log_alpha",)

    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "log_alpha": (-20.0, -60.0, -40.0, -30.0, -10.0, 0.0),
        "threshold": THRESHOLDS,
    }

    def _check_options(self) -> None:
        super()._check_options()
        check_number("log_alpha", self.log_alpha, least=-600.0)
        if self.init not in INITS:
            raise ValueError(f"init must be one of {', '.join(INITS)}, got {self.init!r}")

    def _cluster(
        self,
        rows: Rows,
        criterion: Criterion,
        generator: np.random.Generator,
    ) -> Callable[[SpeakerBounds], Regions]:
        reduced, mixture = self._chain(rows, generator)
        self.n_clusters_ = mixture.n_clusters_
        self.log_posterior_ = mixture.log_posterior_
        reassigner = Reassigner.of(self, criterion)

        def within(bounds: SpeakerBounds) -> Regions:
            counted = Counted(reduced, mixture.labels_, mixture.prior_, mixture.alpha, generator)
            k = int(counted.labels.max()) + 1
            for _ in range(k - most_looked_at(k, self.max_set_size, bounds)):
                counted.merge()
            while (found := reassigner.reassign(rows, counted.labels, bounds)) is None:
                if counted.labels.max() + 1 < bounds.low:
                    counted.split()
                else:
                    counted.merge()
            return found.regions(counted.labels)

        return within

    def _chain(
        self, rows: Rows, generator: np.random.Generator
    ) -> tuple[Float64[np.ndarray, "n d"], DPGMM]:
        """Few coordinates of the rows, and of their chains the one that counts."""
        reduced, prior = reduce_rows(rows, self.scatter)
        chains = [
            DPGMM(
                alpha=float(np.exp(self.log_alpha)),
                prior=prior,
                init=self.init,
                n_iter=self.n_iter,
                random_state=generator,
            ).fit(reduced)
            for _ in range(self.n_chains)
        ]
        return reduced, chains[medoid([chain.labels_ for chain in chains])]


def reduce_rows(
    rows: Rows, scatter: Scatter | None = None
) -> tuple[Float64[np.ndarray, "n d"], NIW]:
    """A few coordinates of each row, and the prior for them.

    Unit vectors of which the axes are known along which speakers differ are projected onto these,
    and a cluster is expected to scatter as a speaker does. Any other rows are projected onto their
    own axes, one for each `ROWS_PER_AXIS` rows (but kept as they are with at most `AXES`
    dimensions), and get the default prior.
    """
    known = known_of(rows, scatter)
    if known is not None and (along := known.axes) is not None:
        reduced = (rows - along.mean) @ along.axes.T
        within, between = along.within, along.total - along.within
        nu = len(within) + 1 + CERTAINTY
        kappa = float(np.trace(within) / np.trace(between))
        return reduced, NIW(np.zeros(len(within)), kappa, CERTAINTY * within, nu)
    centered = rows - rows.mean(axis=0, dtype=np.float64)
    if rows.shape[1] > AXES:
        kept = min(AXES, max(LEAST_AXES, len(rows) // ROWS_PER_AXIS))
        axes = np.linalg.svd(centered, full_matrices=False)[2][:kept]
        centered = centered @ axes.T
    return centered, NIW.from_data(centered)
