"""What corrections say of the windows that are clustered: which belong together, which do not."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import combinations, pairwise
from typing import Any

import numpy as np
from jaxtyping import Float32, Float64, Int64

from diarize.corrections.claims import RESOLUTION, Corrections, Kind
from diarize.sets import Speakers


def window_links(
    corrections: Corrections, windows: Float64[np.ndarray, "w 2"]
) -> tuple[Int64[np.ndarray, "_ 2"], Int64[np.ndarray, "_ 2"]]:
    """Links between windows that lie in stretches of one voice alone.

    Args:
        corrections: claims, of which those that say `ONLY` are used.
        windows: begin and end of each, seconds.

    Returns:
        Pairs of numbers of windows that hold one name, and pairs that hold two.
    """
    rows: dict[str, list[int]] = {}
    for claim in corrections.claims:
        if claim.kind is Kind.ONLY:
            inside = (windows[:, 0] >= claim.start - RESOLUTION) & (
                windows[:, 1] <= claim.end + RESOLUTION
            )
            rows.setdefault(claim.name, []).extend(np.flatnonzero(inside).tolist())
    held = [sorted(set(own)) for own in rows.values() if own]
    must = [pair for own in held for pair in pairwise(own)]
    cannot = [(one[0], other[0]) for one, other in combinations(held, 2)]
    return _pairs(must), _pairs(cannot)


def _pairs(pairs: list[tuple[int, int]]) -> Int64[np.ndarray, "_ 2"]:
    return np.array(pairs, np.int64).reshape(-1, 2)


def relink(
    estimator: Any,
    names: Mapping[int, str],
    corrections: Corrections,
    windows: Float64[np.ndarray, "w 2"],
    vectors: Float32[np.ndarray, "w p"],
    most: int | None = None,
) -> tuple[Speakers, dict[int, str]]:
    """Cluster anew with links between corrected windows, where a clustering takes links.

    Into as many speakers as before, or as many more as the corrections name, at most, if so many
    cannot be told apart as they say.

    Args:
        estimator: the clustering, fitted to the vectors of the windows.
        names: what its speakers are called.
        corrections: claims.
        windows: begin and end of each, seconds.
        vectors: of the windows.
        most: largest number of speakers; None: any.

    Returns:
        The speakers, and what they are called: each as the one before with whom he shares most
        windows.
    """
    from sklearn.base import clone

    must, cannot = window_links(corrections, windows)
    if not estimator.takes_constraints or not (len(must) or len(cannot)):
        return estimator.speakers(), dict(names)
    k, again = estimator.n_speakers_, clone(estimator)
    for n in range(k, min(k + len(corrections.names), most or len(vectors)) + 1):
        again.set_params(n_speakers=n, min_speakers=None, max_speakers=None)
        with suppress(ValueError):  # so many cannot be kept apart as the links ask for
            again.fit(vectors, must_link=must, cannot_link=cannot)
            pairs = estimator.sets_.matched(again.sets_).items()
            return again.speakers(), {
                now: names[before] for before, now in pairs if before in names
            }
    return estimator.speakers(), dict(names)
