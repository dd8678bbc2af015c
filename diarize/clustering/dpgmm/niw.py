"""The normal-inverse-Wishart prior: posterior, marginal likelihood, draws (appendix C).

Everything is batched over clusters in leading dimensions (`*b`), in float64. A prior whose `psi`
is a vector belongs to diagonal covariances: each dimension then is a one-dimensional
normal-inverse-Wishart of its own, with the same kappa and nu.

Slips of the paper are mended: (24) prints |nu Psi|, which belongs to another parametrisation than
that of (22), and (22) and (23) have a stray m.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float64
from scipy.special import gammaln, multigammaln

from diarize.clustering.dpgmm.statistics import Gaussians, Statistics

Array = np.ndarray

LOG_PI = float(np.log(np.pi))

SHARE_WITHIN = 0.1
"""Share of the rows' variance that the default prior expects inside one cluster."""

EXTRA_DEGREES = 3
"""nu - D of the default prior: one more than the least for which covariances have a mean."""

LEAST_SHARE = 1e-6
"""Least variance of a dimension that the default prior expects, as a share of the mean one."""


@dataclass(frozen=True)
class NIW:
    """Normal-inverse-Wishart: Sigma ~ IW(psi, nu), mu ~ N(mean, Sigma / kappa).

    Attributes:
        mean: mu_0, (D,).
        kappa: how many rows the prior mean is worth, above 0.
        psi: scatter of the prior, (D, D), positive definite; or (D,), positive, for diagonal
            covariances.
        nu: degrees of freedom, above D - 1 (for diagonal covariances, above 0).
    """

    mean: Float64[Array, "*b D"]
    kappa: Any
    psi: Array
    nu: Any

    @classmethod
    def from_data(cls, rows: Array, *, diagonal: bool = False) -> NIW:
        """The default prior for rows (n, D).

        Its mean is that of the rows. It expects a cluster's covariance to be `SHARE_WITHIN` of
        the variance of each column, and spreads clusters (kappa = `SHARE_WITHIN`) as far as the
        rows reach. A constant column gets `LEAST_SHARE` of the mean variance.
        """
        D = rows.shape[1]
        mean = rows.mean(axis=0, dtype=np.float64)
        variance = ((rows - mean) ** 2).mean(axis=0, dtype=np.float64)
        average = float(variance.mean()) or 1.0
        variance = np.maximum(variance, LEAST_SHARE * average)
        nu = float((1 if diagonal else D) + EXTRA_DEGREES)
        expected = SHARE_WITHIN * variance * (nu - (1 if diagonal else D) - 1)
        return cls(mean, SHARE_WITHIN, expected if diagonal else np.diag(expected), nu)

    @property
    def dimension(self) -> int:
        """D."""
        return int(self.mean.shape[-1])

    @property
    def full(self) -> bool:
        """Whether covariances are full rather than diagonal."""
        return self.psi.ndim == self.mean.ndim + 1

    def check(self) -> None:
        """Raise ValueError unless this is a proper prior (not a batch)."""
        D = self.mean.shape[0] if self.mean.ndim == 1 else 0
        if D == 0 or self.psi.shape not in ((D,), (D, D)):
            raise ValueError(
                f"the prior's mean must be (D,) and its psi (D, D) or (D,), got {self.mean.shape} "
                f"and {self.psi.shape}"
            )
        if not (np.isfinite(self.mean).all() and np.isfinite(self.psi).all()):
            raise ValueError("the prior's mean and psi must be finite")
        if not 0 < self.kappa < np.inf:
            raise ValueError(f"the prior's kappa must be above 0, got {self.kappa!r}")
        least = D - 1 if self.full else 0
        if not least < self.nu < np.inf:
            raise ValueError(f"the prior's nu must be above {least}, got {self.nu!r}")
        spectrum = np.linalg.eigvalsh(self.psi) if self.full else self.psi
        if self.full and not np.allclose(self.psi, self.psi.T, rtol=1e-8):
            raise ValueError("the prior's psi must be symmetric")
        if spectrum.min() <= 0:
            raise ValueError("the prior's psi must be positive definite")

    def standardised(self, center: Array, scale: Array) -> NIW:
        """The same prior for rows (x - center) / scale, a scale for each dimension."""
        psi = self.psi / (np.multiply.outer(scale, scale) if self.full else scale**2)
        return NIW((self.mean - center) / scale, self.kappa, psi, self.nu)

    def posterior(self, seen: Statistics) -> NIW:
        """Posterior of each cluster, equations 19 to 23."""
        n, kappa = (np.asarray(v, dtype=np.float64) for v in (seen.counts, self.kappa))
        means = seen.sums / np.maximum(n, 1)[..., None]
        gaps = means - self.mean
        weights = kappa * n / (kappa + n)  # of the prior mean's distance, in (22)
        if self.full:
            scatter = seen.squares - n[..., None, None] * _outer(means)
            psi = self.psi + scatter + weights[..., None, None] * _outer(gaps)
            psi = (psi + psi.swapaxes(-1, -2)) / 2
        else:
            scatter = seen.squares - n[..., None] * means**2
            # Rounding must not take away from the prior.
            psi = self.psi + np.maximum(scatter, 0) + weights[..., None] * gaps**2
        mean = (kappa[..., None] * self.mean + seen.sums) / (kappa + n)[..., None]
        return NIW(mean, kappa + n, psi, self.nu + n)

    def log_marginal(self, seen: Statistics) -> Float64[Array, "*b"]:
        """Ln f_x(x; lambda) of each cluster's rows, equation 24 in its usual form."""
        after = self.posterior(seen)
        constant = -seen.counts * self.dimension / 2 * LOG_PI
        return np.asarray(constant + self._log_partition - after._log_partition)

    @cached_property  # a prior is asked again with every sweep
    def _log_partition(self) -> Any:
        """nu/2 ln|psi| + D/2 ln kappa - ln Gamma_D(nu/2)."""
        nu, D = np.asarray(self.nu, dtype=np.float64), self.dimension
        if self.full:
            roots = cholesky(self.psi)
            log_det = 2 * np.log(np.diagonal(roots, axis1=-2, axis2=-1)).sum(axis=-1)
            log_gamma = multigammaln(nu / 2, D)
        else:
            log_det = np.log(self.psi).sum(axis=-1)
            log_gamma = D * gammaln(nu / 2)
        return nu / 2 * log_det + D / 2 * np.log(self.kappa) - log_gamma

    def draw(self, generator: np.random.Generator) -> Gaussians:
        """One mean and covariance from each distribution of a batch (12, 13)."""
        K, D = self.mean.shape
        noise = generator.standard_normal((K, D))
        if not self.full:
            degrees = np.broadcast_to(np.asarray(self.nu)[..., None], (K, D))
            roots = np.sqrt(self.psi / generator.chisquare(degrees))
            means = self.mean + roots * noise / np.sqrt(self.kappa)[:, None]
            return Gaussians(means, roots)
        # Bartlett: Sigma^-1 = C^-T A A^T C^-1 with psi = C C^T, so Sigma = R R^T, R = C A^-T.
        A = np.tril(generator.standard_normal((K, D, D)), -1)
        degrees = np.asarray(self.nu)[:, None] - np.arange(D)
        A[:, np.arange(D), np.arange(D)] = np.sqrt(generator.chisquare(degrees))
        roots = cholesky(self.psi) @ np.linalg.inv(A).swapaxes(-1, -2)
        means = self.mean + (roots @ noise[:, :, None])[:, :, 0] / np.sqrt(self.kappa)[:, None]
        return Gaussians(means, roots)

    def expected(self) -> Gaussians:
        """Mean and covariance of each distribution of a batch, the latter psi / (nu - D + 1).

        That is the scale of the predictive Student t but for a factor of (kappa + 1) / kappa, and
        exists for every proper posterior.
        """
        nu = np.asarray(self.nu)
        if self.full:
            return Gaussians(
                self.mean, cholesky(self.psi / (nu - self.dimension + 1)[:, None, None])
            )
        return Gaussians(self.mean, np.sqrt(self.psi / nu[:, None]))


def cholesky(matrices: Array) -> Array:
    """Lower roots of positive definite matrices; what rounding made indefinite is lifted."""
    try:
        return np.linalg.cholesky(matrices)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(matrices)
        floor = values[..., -1:] * np.finfo(np.float64).eps * 16 * matrices.shape[-1]
        lifted = np.maximum(values, floor)
        return np.linalg.cholesky((vectors * lifted[..., None, :]) @ vectors.swapaxes(-1, -2))


def _outer(vectors: Array) -> Array:
    return vectors[..., :, None] * vectors[..., None, :]
