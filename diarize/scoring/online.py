"""How good the ids of an online clustering are (Links, section 3.6)."""

from __future__ import annotations

import numpy as np

from diarize.sets import SpeakerSets


def hungarian_accuracy(inferred: SpeakerSets, truth: SpeakerSets) -> float:
    """Share of ids that are right when inferred ids are mapped to true ones as well as can be.

    The mapping is one to one, and found by the Hungarian algorithm. Rows of one id each count as
    right or wrong; a row of several counts as many ids as the larger of its two sets has. Without
    any id there is nothing wrong: 1.

    Raises:
        ValueError: the labelings differ in length.
    """
    from scipy.optimize import linear_sum_assignment

    own, others, counts = inferred.contingency(truth)
    ours, theirs = own.membership.astype(np.int64), others.membership.astype(np.int64)
    ids = int((counts * np.maximum(own.sizes[:, None], others.sizes)).sum())
    if ids == 0:
        return 1.0
    together = ours.T @ counts @ theirs  # rows that hold an inferred and a true id
    return float(together[linear_sum_assignment(together, maximize=True)].sum()) / ids


def conflation(inferred: SpeakerSets, truth: SpeakerSets) -> float:
    """Of the pairs of rows that share no true id, the part that shares an inferred one.

    Without any such pair: 0.

    Raises:
        ValueError: the labelings differ in length.
    """
    both, ours, theirs, every = _pairs(inferred, truth)
    return (ours - both) / (every - theirs) if every > theirs else 0.0


def fracture(inferred: SpeakerSets, truth: SpeakerSets) -> float:
    """Of the pairs of rows that share a true id, the part that shares no inferred one.

    Without any such pair: 0.

    Raises:
        ValueError: the labelings differ in length.
    """
    both, _, theirs, _ = _pairs(inferred, truth)
    return (theirs - both) / theirs if theirs else 0.0


def id_cost(
    inferred: SpeakerSets, truth: SpeakerSets, *, conflating: float = 1.0, fracturing: float = 1.0
) -> float:
    """Conflation and fracture, averaged with weights that say how serious each is.

    Raises:
        ValueError: the labelings differ in length, or the weights are not positive together.
    """
    if min(conflating, fracturing) < 0 or conflating + fracturing <= 0:
        raise ValueError("weights cannot be negative, nor both zero")
    cost = conflating * conflation(inferred, truth) + fracturing * fracture(inferred, truth)
    return cost / (conflating + fracturing)


def _pairs(inferred: SpeakerSets, truth: SpeakerSets) -> tuple[int, int, int, int]:
    """Ordered pairs of different rows: sharing ids of both kinds, inferred, true ones; all."""
    own, others, counts = inferred.contingency(truth)
    ours = _share(own).astype(np.int64)
    theirs = _share(others).astype(np.int64)
    rows, columns = counts.sum(axis=1), counts.sum(axis=0)
    n = len(truth)
    # A row shares its own ids with itself, unless it has none.
    heard, spoken = own.sizes > 0, others.sizes > 0
    both = int((counts * (ours @ counts @ theirs)).sum()) - int(counts[heard][:, spoken].sum())
    return (
        both,
        int(rows @ ours @ rows) - int(rows[heard].sum()),
        int(columns @ theirs @ columns) - int(columns[spoken].sum()),
        n * (n - 1),
    )


def _share(sets: SpeakerSets) -> np.ndarray:
    """Which sets have a member in common."""
    members = sets.membership.astype(np.int64)
    return members @ members.T > 0
