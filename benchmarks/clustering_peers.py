"""What the clusterings are measured against: the same algorithms, written in the plain way."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Float32, Float64

from diarize.clustering.composition import Compose
from diarize.sets import SpeakerSets, enumerate_sets

RATE = 0.01
"""Adam's learning rate: of 0.003, 0.01 and 0.03 the one with the least objective."""

BLOCK = 500
"""Rows of the matrix of all pairs looked at at a time."""


class AdamKMeans:
    """Compositional k-means as one writes it first: Adam over all rows, one start after another.

    Args:
        rows: unit vectors.
        compose: g, of torch.
        k: speakers; sets have up to two.
        on_sphere: whether centroids are kept on the sphere; the paper does not say.
    """

    def __init__(
        self, rows: Float32[np.ndarray, "n p"], compose: Compose, k: int, on_sphere: bool
    ) -> None:
        self._rows = torch.from_numpy(rows)
        self._compose = compose
        sets = enumerate_sets(k, 2)
        pairs = np.array([np.flatnonzero(s) for s in sets[k:]]).T
        self._first, self._second = (torch.from_numpy(members) for members in pairs)
        self._on_sphere = on_sphere

    def run(self, start: Float32[np.ndarray, "k p"], alternations: int, steps: int) -> float:
        """The objective that one start reaches: every step goes through all rows."""
        centroids = torch.from_numpy(start.copy()).requires_grad_()
        for _ in range(alternations):
            labels = self._assign(centroids[None].detach())[0]
            optimizer = torch.optim.Adam([centroids], lr=RATE)
            for _ in range(steps):
                optimizer.zero_grad()
                centers = self._centers(centroids[None])[0]
                ((self._rows - centers[labels]) ** 2).sum().backward()
                optimizer.step()
        return float(self._objective(centroids[None].detach())[0])

    def run_all(
        self, starts: Float32[np.ndarray, "r k p"], alternations: int, steps: int
    ) -> Float64[np.ndarray, " r"]:
        """The same numbers for many starts, sooner: Adam sees only counts and sums of the sets.

        This is not the peer that is timed; it tells what the peer's best start would reach.
        """
        centroids = torch.from_numpy(starts.copy()).requires_grad_()
        for _ in range(alternations):
            labels = self._assign(centroids.detach())
            m = self._centers(centroids).shape[1]
            counts = torch.stack([torch.bincount(row, minlength=m) for row in labels]).float()
            sums = torch.stack(
                [torch.zeros(m, starts.shape[2]).index_add_(0, row, self._rows) for row in labels]
            )
            optimizer = torch.optim.Adam([centroids], lr=RATE)
            for _ in range(steps):
                optimizer.zero_grad()
                centers = self._centers(centroids)
                squares = (counts * (centers**2).sum(dim=2)).sum()
                (squares - 2 * (centers * sums).sum()).backward()
                optimizer.step()
        return self._objective(centroids.detach())

    def _centers(self, centroids: Any) -> Any:
        if self._on_sphere:
            centroids = torch.nn.functional.normalize(centroids, dim=-1)
        r, _, p = centroids.shape
        pairs = self._compose(
            centroids[:, self._first].reshape(-1, p), centroids[:, self._second].reshape(-1, p)
        )
        return torch.cat([centroids, pairs.reshape(r, -1, p)], dim=1)

    def _assign(self, centroids: Any) -> list[Any]:
        with torch.no_grad():
            return [torch.cdist(self._rows, c).argmin(dim=1) for c in self._centers(centroids)]

    def _objective(self, centroids: Any) -> Float64[np.ndarray, " r"]:
        with torch.no_grad():
            centers = self._centers(centroids)
            labels = self._assign(centroids)
            return np.array(
                [
                    float(((self._rows - c[row]) ** 2).sum(dtype=torch.float64))
                    for c, row in zip(centers, labels, strict=True)
                ]
            )


def index_of_all_pairs(inferred: SpeakerSets, truth: SpeakerSets) -> float:
    """The compositional Rand index, examples compared with examples."""
    n = len(truth)
    agreeing = 0
    words = [_words(labeling) for labeling in (inferred, truth)]
    for start in range(0, n, BLOCK):
        above = [(rows[start : start + BLOCK, None] & rows) == rows for rows in words]
        agreeing += int((above[0] == above[1]).sum())
    return (agreeing - n) / (n * (n - 1))


def _words(sets: SpeakerSets) -> np.ndarray:
    """Each row as an integer whose bits are the speakers, of whom there are at most 62."""
    return sets.membership.astype(np.int64) @ (1 << np.arange(sets.n_speakers))


def estimator(name: str, k: int, seed: int) -> Any:
    """A function of rows that clusters them as the library behind a baseline does by itself.

    Raises:
        ImportError: scikit-fuzzy is not installed.
    """
    if name == "scikit-learn AC":
        from sklearn.cluster import AgglomerativeClustering

        return AgglomerativeClustering(n_clusters=k).fit
    if name == "scikit-learn AP":
        from sklearn.cluster import AffinityPropagation

        return AffinityPropagation(preference=-5.0, damping=0.65, max_iter=300).fit
    if name == "scikit-learn GMM":
        from sklearn.mixture import BayesianGaussianMixture

        return BayesianGaussianMixture(
            n_components=k, covariance_type="full", max_iter=300, random_state=seed
        ).fit
    import skfuzzy  # type: ignore[import-not-found,unused-ignore]

    def fuzzy(rows: Float[np.ndarray, "n p"]) -> None:
        for restart in range(10):
            skfuzzy.cmeans(rows.T, k, 1.2, error=1e-4, maxiter=300, seed=seed + restart)

    return fuzzy
