"""The Dirichlet-process Gaussian mixture as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Int64
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted

from diarize.clustering.base import as_generator
from diarize.clustering.checks import Rows, check_integer, check_number, check_rows
from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.partitions import to_mode
from diarize.clustering.dpgmm.passes import Passes
from diarize.clustering.dpgmm.sampler import Sampler
from diarize.clustering.dpgmm.starts import (
    PATIENCE,
    RANDOM_PATIENCE,
    means_start,
    random_start,
    splitnet_start,
)
from diarize.clustering.dpgmm.statistics import Features, blocks

COVARIANCES = ("full", "diag")

STARTS = {"random": random_start, "kmeans": means_start}
INITS = (*STARTS, "splitnet")

LEAST_SPREAD = 1e-140
"""Columns that spread less are taken for constant: the square of their spread would vanish."""

EXCHANGES = 4
"""Random splits or merges proposed in an iteration after the burn-in."""


@dataclass(kw_only=True, eq=False, repr=False)
class DPGMM(ClusterMixin, DensityMixin, BaseEstimator):
    """Gaussian mixture that infers how many clusters there are, by sampling with sub-clusters.

    Chang and Fisher (2013), with the starts of sub-clusters of Winter, Dinari, Freifeld (2022).
    The chain begins with halves of halves, as many as pay. The burn-in searches: in each iteration
    clusters may be split into their sub-clusters and pairs be merged. The iterations after it draw
    from the posterior of the partition, exactly; they change the number of clusters rarely. The
    answer is the partition of the highest posterior that was seen, its rows moved to their
    likeliest cluster.

    Args:
        alpha: concentration of the Dirichlet process; the larger, the more clusters.
        covariance_type: full, or diag for covariances without correlations.
        prior: of means and covariances, in the units of X; None: `NIW.from_data`, which expects
            a cluster to have a tenth of the rows' variance. Its psi is (D, D) for full
            covariances, (D,) for diagonal ones.
        init: how sub-clusters begin: random, kmeans (2-means) or splitnet (the network for 2, 10
            or 20 dimensions; others are projected, see `init_`).
        n_iter: iterations.
        burn_in: those of them that search; None: three quarters.
        device: of torch: cpu, cuda, ...
        random_state: seed.

    Attributes:
        labels_: cluster of each row, (n,), the largest cluster first.
        n_clusters_: K.
        weights_: share of the rows of each cluster, (K,).
        means_: posterior means, (K, D).
        covariances_: scale matrices of the posterior predictive but for the factor
            (kappa + 1) / kappa of a cluster, (K, D, D) or (K, D).
        log_posterior_: ln p(z, X) after each iteration, up to a constant the log posterior of the
            partition, (n_iter,).
        prior_: the prior that was used.
        init_: how sub-clusters began, in words.
    """

    alpha: float = 1.0
    covariance_type: str = "full"
    prior: NIW | None = None
    init: str = "kmeans"
    n_iter: int = 200
    burn_in: int | None = None
    device: str = "cpu"
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> DPGMM:
        """Cluster the rows of X, (n, D), n at least 1.

        Raises:
            ValueError: X or an option cannot be used; one line says why.
        """
        import torch

        rows = check_rows(X)
        if not len(rows):
            raise ValueError("X has no rows")
        self._check_options(rows.shape[1])
        self.n_features_in_ = rows.shape[1]
        self.prior_ = self.prior or NIW.from_data(rows, diagonal=self.covariance_type == "diag")
        self._center, self._scale = standardisation(rows)
        prior = self.prior_.standardised(self._center, self._scale)
        if self.init == "splitnet":
            start, self.init_ = splitnet_start(self.n_features_in_)
        else:
            start, self.init_ = STARTS[self.init], self.init
        generator = as_generator(self.random_state)
        patience = RANDOM_PATIENCE if self.init == "random" else PATIENCE
        x = torch.from_numpy((rows - self._center) / self._scale).to(self.device)
        sampler = Sampler(x, prior, self.alpha, start, generator, patience=patience)
        # Densities of x are those of its standardised values over the product of the scales.
        unit = len(rows) * float(np.log(self._scale).sum())
        burn_in = 3 * self.n_iter // 4 if self.burn_in is None else self.burn_in
        labels, history = run(sampler, self.n_iter, burn_in)
        self.log_posterior_ = history - unit
        self._describe(sampler.passes, labels, prior)
        return self

    def _check_options(self, D: int) -> None:
        if self.init not in INITS:
            raise ValueError(f"init must be one of {', '.join(INITS)}, got {self.init!r}")
        if self.covariance_type not in COVARIANCES:
            raise ValueError(
                f"covariance_type must be one of {', '.join(COVARIANCES)}, "
                f"got {self.covariance_type!r}"
            )
        check_number("alpha", self.alpha)
        if self.alpha == 0:
            raise ValueError("alpha must be above 0")
        check_integer("n_iter", self.n_iter)
        if self.burn_in is not None:
            check_integer("burn_in", self.burn_in, least=0)
        if self.prior is not None:
            self.prior.check()
            if self.prior.dimension != D:
                raise ValueError(f"the prior has {self.prior.dimension} dimensions, X has {D}")
            if self.prior.full != (self.covariance_type == "full"):
                raise ValueError(
                    f"covariance_type={self.covariance_type!r} does not go with a prior whose "
                    f"psi has {self.prior.psi.ndim} axes"
                )

    def _describe(self, passes: Passes, labels: Int64[np.ndarray, " n"], prior: NIW) -> None:
        """Learned parameters, clusters in the order of their size."""
        import torch

        counts = np.bincount(labels)
        order = np.argsort(-counts, kind="stable")
        self.labels_ = np.argsort(order)[labels]
        self.n_clusters_ = len(counts)
        self.weights_ = counts[order] / len(labels)
        sums = passes.sums(torch.from_numpy(self.labels_).to(passes.rows.device), len(counts))
        self._gaussians = prior.posterior(passes.features.statistics(sums)).expected()
        self.means_ = self._center + self._scale * self._gaussians.means
        covariances = self._gaussians.covariances
        self.covariances_ = covariances * (
            np.multiply.outer(self._scale, self._scale) if prior.full else self._scale**2
        )

    # The mixture that was found, for other rows.

    def _joint(self, X: Any) -> Float64[np.ndarray, "n K"]:
        """Ln weight + ln density of rows in each cluster, in the units of X."""
        import torch

        check_is_fitted(self, "labels_")
        rows = check_rows(X)
        if rows.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {rows.shape[1]} columns, the fit had {self.n_features_in_}")
        features = Features(rows.shape[1], self.prior_.full)
        weights = features.weights(self._gaussians)
        weights[:, 0] += np.log(self.weights_) - np.log(self._scale).sum()
        joint = np.empty((len(rows), self.n_clusters_))
        for block in blocks(len(rows), max(features.size, self.n_clusters_)):
            x = torch.from_numpy((rows[block] - self._center) / self._scale)
            joint[block] = features.of(x).numpy() @ weights.T
        return joint

    def predict(self, X: Any) -> Int64[np.ndarray, " n"]:
        """The likeliest cluster of each row."""
        return self._joint(X).argmax(axis=1).astype(np.int64)

    def predict_proba(self, X: Any) -> Float64[np.ndarray, "n K"]:
        """Probability of each cluster."""
        return np.asarray(softmax(self._joint(X), axis=1))

    def score_samples(self, X: Any) -> Float64[np.ndarray, " n"]:
        """Log density of each row."""
        return np.asarray(logsumexp(self._joint(X), axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Mean log density of the rows."""
        return float(self.score_samples(X).mean())

    def sample(
        self, n_samples: int = 1
    ) -> tuple[Float64[np.ndarray, "n D"], Int64[np.ndarray, " n"]]:
        """Draw rows, and the clusters they come from."""
        check_is_fitted(self, "labels_")
        check_integer("n_samples", n_samples)
        generator = as_generator(self.random_state)
        labels = generator.choice(self.n_clusters_, n_samples, p=self.weights_)
        noise = generator.standard_normal((n_samples, self.n_features_in_))
        roots = self._gaussians.roots[labels]
        scaled = (roots @ noise[:, :, None])[:, :, 0] if roots.ndim == 3 else roots * noise
        return self._center + self._scale * (self._gaussians.means[labels] + scaled), labels


def run(
    sampler: Sampler, n_iter: int, burn_in: int
) -> tuple[Int64[np.ndarray, " n"], Float64[np.ndarray, " iterations"]]:
    """Run a chain: moved to the mode beside it, and its values."""
    if burn_in:
        sampler.begin()
    best, value = sampler.labels, -np.inf
    history = np.empty(n_iter)
    for iteration in range(n_iter):
        sampler.sweep()
        if iteration < burn_in:
            sampler.merge()
            # Halves that have just begun are proposed before sweeps blur them, too.
            sampler.restart()
            sampler.split()
        else:
            for _ in range(EXCHANGES):
                sampler.exchange()
        history[iteration] = sampler.log_joint()
        if history[iteration] > value:
            best, value = sampler.labels.clone(), history[iteration]
    best = to_mode(sampler.passes, best, sampler.prior, sampler.alpha)
    return best.cpu().numpy(), history


def standardisation(
    rows: Rows,
) -> tuple[Float64[np.ndarray, " D"], Float64[np.ndarray, " D"]]:
    """Mean and spread of each column; one as good as constant is given the mean spread, or 1."""
    center = rows.mean(axis=0, dtype=np.float64)
    largest = np.abs(rows - center).max(axis=0)  # squares of small numbers would vanish
    safe = np.where(largest > 0, largest, 1.0)
    scale = safe * np.sqrt((((rows - center) / safe) ** 2).mean(axis=0, dtype=np.float64))
    varies = (scale > np.finfo(np.float64).eps * np.abs(center)) & (scale > LEAST_SPREAD)
    if not varies.any():
        return center, np.ones_like(scale)
    return center, np.where(varies, scale, scale[varies].mean())
