"""How near windows lie to others that a speaker holds alone, not to their mean only.

A voice changes with mood and place: what is said now resembles some of what the same person says,
and most what was said a moment ago.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Float32, Int64

FAR = 2.0  # squared distance beyond which nothing is told apart
SHARPNESS = (4.0, 16.0, 64.0)  # each four times the one before: towards the nearest of all windows
COMPARED = 128  # windows of a speaker, spread over all that are held
APART = 6  # cells; windows further from each other share no sound
AROUND = 75  # cells on either side, 15 s
NUMBERS = 2 * (len(SHARPNESS) + 1)  # of a speaker in a cell


def how_near(
    vectors: Float[np.ndarray, "n p"], alone: Bool[np.ndarray, "n k"]
) -> Float32[np.ndarray, "k n numbers"]:
    """Compare each window with those that speakers hold alone and that share no sound with it.

    Args:
        vectors: of the windows, unit length, in order of time.
        alone: whom of k speakers each of them holds, if nobody else.

    Returns:
        Squared distances from the speaker, at most `FAR`: soft minima of those from the speaker's
        windows, sharper and sharper, and that from the mean of those within 15 s. Then by how much
        each of them is larger for the nearest other speaker.
    """
    rows = vectors.astype(np.float32)
    own = np.stack([_of_speaker(rows, np.flatnonzero(held)) for held in alone.T])  # (k, n, 4)
    nearest = np.sort(np.concatenate([own, np.full_like(own[:1], FAR)]), axis=0)[:2]
    others = np.where(own == nearest[0], nearest[1], nearest[0])
    return np.concatenate([own, others - own], axis=2)


def _of_speaker(
    rows: Float32[np.ndarray, "n p"], held: Int64[np.ndarray, " m"]
) -> Float32[np.ndarray, "n 4"]:
    """Distances from one speaker, who holds some of the windows alone."""
    compared = held[np.linspace(0, len(held) - 1, min(COMPARED, len(held))).astype(int)]
    n, m = len(rows), len(compared)
    near = np.exp(SHARPNESS[0] * (2 * rows @ rows[compared].T - 2))  # (n, m)
    shared = compared + np.arange(-APART, APART + 1)[:, None]  # (cells, m)
    inside = (shared >= 0) & (shared < n)
    near[shared[inside], np.nonzero(inside)[1]] = 0
    among = np.maximum(m - np.bincount(shared[inside], minlength=n), 1)
    numbers = []
    for sharpness in SHARPNESS:  # -log mean exp(-sharpness squares) / sharpness
        mean = near.sum(axis=1) / among
        numbers.append(-np.log(np.maximum(mean, np.exp(-sharpness * FAR))) / sharpness)
        near = np.square(np.square(near, out=near), out=near)
    numbers.append(_from_those_around(rows, held))
    return np.clip(np.stack(numbers, axis=1), 0, FAR, dtype=np.float32)


def _from_those_around(
    rows: Float32[np.ndarray, "n p"], held: Int64[np.ndarray, " m"]
) -> Float[np.ndarray, " n"]:
    """Squared distance of each window from the mean of those around that are held."""
    n = len(rows)
    sums = np.zeros((n + 1, rows.shape[1]))
    sums[held + 1] = rows[held]
    np.cumsum(sums, axis=0, out=sums)

    def within(cells: int) -> Float[np.ndarray, "n p"]:
        at = np.arange(n)
        return sums[np.minimum(at + cells + 1, n)] - sums[np.maximum(at - cells, 0)]

    near = within(AROUND) - within(APART)
    lengths = np.maximum(np.linalg.norm(near, axis=1), 1e-9)
    return np.asarray(2 - 2 * np.einsum("np,np->n", rows, near) / lengths)
