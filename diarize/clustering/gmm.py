"""A variational Gaussian mixture whose memberships are thresholded."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64
from sklearn.exceptions import ConvergenceWarning

from diarize.clustering.checks import Rows
from diarize.clustering.memberships import Mixture, SoftClusterer

COVARIANCES = ("full", "tied", "diag", "spherical")

LEAST_VARIANCE = 1e-6
"""Added to variances, in units of the rows' mean one; scikit-learn's default."""

BLOCK_VALUES = 2**22
"""Values of rows whose memberships are computed at a time (32 MB)."""


@dataclass(kw_only=True, eq=False, repr=False)
class GMM(SoftClusterer):
    """Bayesian Gaussian mixture: a row holds the speakers whose posterior is above a threshold.

    scikit-learn's `BayesianGaussianMixture`; the composition function is not used.

    Args:
        covariance_type: of the components: full, tied (one for all), diag or spherical. The prior
            of the last two is so strong where dimensions are many that few rows are not told apart.
        threshold: posterior above which a row holds a speaker; None: 1 / components.
        n_restarts: restarts; the one of the highest lower bound wins.
        tol: the gain of the lower bound below which the iteration stops.
        sample_size: rows fitted at most; None: all. Posteriors are those of all rows.

    Attributes:
        n_iter_: iterations of the best restart.
    """

    covariance_type: str = "full"
    threshold: float | None = None
    n_restarts: int = 1
    count_penalty: float = 1.0
    max_iter: int = 300
    tol: float = 1e-3
    sample_size: int | None = 20_000

    tunables: ClassVar[dict[str, tuple[Any, ...]]] = {
        "covariance_type": ("full", "tied", "diag", "spherical"),
        "count_penalty": (1.0, 0.5, 0.7, 1.4, 2.0),
    }

    def _check_options(self) -> None:
        super()._check_options()
        if self.covariance_type not in COVARIANCES:
            raise ValueError(
                f"covariance_type must be one of {', '.join(COVARIANCES)}, "
                f"got {self.covariance_type!r}"
            )

    def _mix(self, rows: Rows, k: int, generator: np.random.Generator) -> Mixture:
        from sklearn.mixture import BayesianGaussianMixture

        # In units of its spread, so that the least variance (1e-6) suits any data.
        mean = rows.mean(axis=0, dtype=np.float64)
        spread = float(np.sqrt(((rows - mean) ** 2).mean()))
        if spread == 0:  # rows that coincide
            return Mixture(lambda some: np.full((len(some), k), 1 / k), np.tile(mean, (k, 1)))
        scaled = (rows - mean) / spread
        model = BayesianGaussianMixture(
            n_components=k,
            covariance_type=self.covariance_type,
            covariance_prior=_prior(scaled, self.covariance_type),
            reg_covar=LEAST_VARIANCE,
            n_init=self.n_restarts,
            max_iter=self.max_iter,
            tol=self.tol,
            random_state=int(generator.integers(2**31)),
        )
        with warnings.catch_warnings():
            # Also of its k-means, where fewer rows are different than there are components.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(scaled)

        def degrees(some: Rows) -> Float64[np.ndarray, "n k"]:
            size = max(1, BLOCK_VALUES // some.shape[1])
            blocks = (some[i : i + size] for i in range(0, len(some), size))
            return np.concatenate([model.predict_proba((x - mean) / spread) for x in blocks])

        return Mixture(
            degrees, mean + spread * model.means_, int(model.n_iter_), bool(model.converged_)
        )


def _prior(rows: Float64[np.ndarray, "n p"], covariance_type: str) -> Any:
    """That of scikit-learn, the covariance of all rows, kept regular: its own fails where n < p."""
    if covariance_type == "spherical":
        return float(rows.var(axis=0, ddof=1).mean()) + LEAST_VARIANCE
    if covariance_type == "diag":
        return rows.var(axis=0, ddof=1) + LEAST_VARIANCE
    return np.cov(rows.T).reshape(2 * rows.shape[1:]) + LEAST_VARIANCE * np.eye(rows.shape[1])
