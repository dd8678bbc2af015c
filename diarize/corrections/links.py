"""What corrections say of the windows that are clustered: which belong together, which do not."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations, pairwise

import numpy as np
from jaxtyping import Float64, Int64

from diarize.corrections.claims import RESOLUTION, Corrections, Kind
from diarize.sets import SpeakerSets


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


def carry_names(before: SpeakerSets, names: Mapping[int, str], now: SpeakerSets) -> dict[int, str]:
    """Call the speakers of a clustering as those of another one with whom they share most windows.

    Args:
        before: the clustering whose speakers have names.
        names: of these.
        now: the other clustering of the same windows.
    """
    from scipy.optimize import linear_sum_assignment

    shared = before.membership.T.astype(np.int64) @ now.membership.astype(np.int64)
    pairs = zip(*linear_sum_assignment(-shared), strict=True)
    return {int(b): names[int(a)] for a, b in pairs if shared[a, b] and int(a) in names}
