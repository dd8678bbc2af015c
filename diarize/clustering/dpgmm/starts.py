"""How the two sub-clusters of a new cluster begin: at random, by 2-means, or by SplitNet.

What the paper is about: random halves are alike, and it takes the sampler long to tell them apart,
or for ever (section 4).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float64

from diarize.clustering.dpgmm.niw import NIW
from diarize.clustering.dpgmm.statistics import Features

Rows = Any  # a torch tensor (n, D), float64
Start = Callable[[Rows, np.random.Generator], Any]
"""From a cluster's rows, two at least, to whether each is in the second half: (n,) of bool."""

PATIENCE, RANDOM_PATIENCE = 10, 20
"""Sweeps that halves are given before they begin anew; random ones take longer to part."""

MEANS_SAMPLE = 4096
"""Rows by which the two means are found; the others go to the nearer one."""

MEANS_ROUNDS = 20
"""Most rounds of 2-means: halves need not be perfect to begin with."""

NETWORK_SAMPLE = 256
"""Rows that SplitNet sees: as many as the largest sets it was trained on. The others go to the
likelier one of two Gaussians around its halves."""


def random_start(rows: Rows, generator: np.random.Generator) -> Any:
    """Halves at random, as Chang and Fisher (2013) have them."""
    return _tensor(generator.random(len(rows)) < 0.5, rows)


def means_start(rows: Rows, generator: np.random.Generator) -> Any:
    """Halves by 2-means (section 4.1.1)."""
    sample = _sample(rows, MEANS_SAMPLE, generator)
    x = sample.cpu().numpy()
    first = x[generator.integers(len(x))]
    far = ((x - first) ** 2).sum(axis=1)
    if not far.max() > 0:  # rows that coincide
        return random_start(rows, generator)
    second = x[generator.choice(len(x), p=far / far.sum())]
    half = np.zeros(0, bool)
    for _ in range(MEANS_ROUNDS):
        before, half = half, x @ (second - first) > (second @ second - first @ first) / 2
        if half.all() or not half.any() or np.array_equal(before, half):
            break
        first, second = x[~half].mean(axis=0), x[half].mean(axis=0)
    direction = _tensor(second - first, rows)
    return _both(rows @ direction > float(second @ second - first @ first) / 2, rows, generator)


def splitnet_start(dimension: int) -> tuple[Start, str]:
    """Halves by the network for rows of this dimension (section 4.1.2), and what it does.

    Networks ship for 2, 10 and 20 dimensions. Rows of another dimension are projected onto the
    principal axes of their cluster, as many as the largest network takes that is not larger than
    they are; one-dimensional rows, and where no such network is there, go by 2-means.
    """
    from diarize.clustering.dpgmm.splitnet import DIMENSIONS, load_splitnet, shipped_splitnet

    usable = [d for d in DIMENSIONS if d <= dimension and shipped_splitnet(d).is_file()]
    if not usable:
        return means_start, f"2-means: there is no SplitNet for {dimension} dimensions"
    size = max(usable)
    network = load_splitnet(shipped_splitnet(size))

    def start(rows: Rows, generator: np.random.Generator) -> Any:
        import torch

        from diarize.clustering.dpgmm.splitnet import normalise

        sample = _sample(rows, NETWORK_SAMPLE, generator)
        x = sample.cpu().numpy()
        seen = torch.from_numpy(principal(x, size) if size < dimension else x)
        with torch.inference_mode():
            half = network(normalise(seen[None]).float())[0].numpy() > 0
        if len(sample) == len(rows):
            return _both(_tensor(half, rows), rows, generator)
        if half.all() or not half.any():
            return random_start(rows, generator)
        return _both(_likelier(rows, x, half), rows, generator)

    name = f"splitnet-{size}"
    return start, name if size == dimension else f"{name} on {size} principal axes of each cluster"


def principal(x: Float64[np.ndarray, "n D"], size: int) -> Float64[np.ndarray, "n size"]:
    """The rows along the axes of their largest variance."""
    centered = x - x.mean(axis=0)
    axes = np.linalg.eigh(centered.T @ centered)[1]
    return np.ascontiguousarray(centered @ axes[:, -size:])


def _likelier(rows: Rows, x: Float64[np.ndarray, "s D"], half: Bool[np.ndarray, " s"]) -> Any:
    """Extend halves of a sample to all rows."""
    import torch

    features = Features(x.shape[1], full=True)
    phi = features.of(torch.from_numpy(x)).numpy()
    sums = np.stack([phi[~half].sum(axis=0), phi[half].sum(axis=0)])
    fitted = NIW.from_data(x).posterior(features.statistics(sums)).expected()
    weights = features.weights(fitted)
    weights[:, 0] += np.log(sums[:, 0])
    return features.of(rows) @ _tensor(weights[1] - weights[0], rows) > 0


def _sample(rows: Rows, size: int, generator: np.random.Generator) -> Rows:
    if len(rows) <= size:
        return rows
    chosen = np.sort(generator.choice(len(rows), size, replace=False))
    return rows[_tensor(chosen, rows)]


def _both(halves: Any, rows: Rows, generator: np.random.Generator) -> Any:
    """These halves, or random ones where one of these is empty."""
    return halves if 0 < int(halves.sum()) < len(halves) else random_start(rows, generator)


def _tensor(values: np.ndarray, rows: Rows) -> Any:
    import torch

    return torch.from_numpy(np.ascontiguousarray(values)).to(rows.device)
