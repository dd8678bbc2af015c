"""Who the names of corrections are among the speakers that a clustering found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64, Int64

from diarize.corrections.claims import Corrections
from diarize.errors import InputError
from diarize.sets import Speakers, squared_distances, to_sphere

REACH = 0.7  # seconds to each side of a cell's middle that its window hears

FIT = 0.3  # share of what is known of a new name's voice that must lie in the cluster it is
JOIN = 0.5  # seconds for which a new name must be heard in a further cluster to be that one, too


@dataclass(frozen=True)
class Corrected:
    """Speakers whom corrections have named, joined and founded."""

    names: tuple[str | None, ...]  # None: one who has none yet
    clusters: tuple[list[int], ...]  # speakers of the clustering each of them is; none if he is new
    speakers: Speakers


def evidence(
    corrections: Corrections, cells: Float64[np.ndarray, "n 2"], names: list[str]
) -> Float64[np.ndarray, "names n"]:
    """How much of each cell's window is known to be one name's voice alone, in seconds of cells.

    That is where the name is said to be heard and no other is; or, for a name that is nowhere said
    to be alone, where it is heard.
    """
    middles = cells.mean(axis=1)
    alone = np.zeros((len(names), len(cells)))
    for claim in corrections.claims:
        if not claim.speaks:
            continue
        inside = slice(*np.searchsorted(middles, [claim.start, claim.end]))
        near = np.minimum(middles[inside] - claim.start, claim.end - middles[inside])
        share = (REACH + np.minimum(near, REACH)) / (2 * REACH)
        row = alone[names.index(claim.name)]
        row[inside] = np.maximum(row[inside], share)
    together = (alone > 0).sum(axis=0) > 1
    ever_alone = alone[:, ~together].any(axis=1)
    alone[np.ix_(ever_alone, together)] = 0.0
    return alone * (cells[:, 1] - cells[:, 0])


def correct_speakers(
    corrections: Corrections,
    cells: Float64[np.ndarray, "n 2"],
    vectors: Float64[np.ndarray, "n p"],
    speakers: Speakers,
    before: Mapping[int, str],
    least: int,
    most: int | None,
) -> Corrected:
    """Find the speakers whom corrections name among those of a clustering.

    A name that the result without corrections has means that speaker. The other names are new;
    each is the speaker who is nearest to most of its stretches, no two names the same one. A
    further speaker in whose voice that name is heard, and no other, is joined to it; a name for
    which no speaker is left founds one.

    Args:
        corrections: claims.
        cells: sorted disjoint stretches of time, none of which holds a border of claims, seconds.
        vectors: unit vectors of the cells' windows.
        speakers: those of the clustering.
        before: what the result without corrections calls its speakers.
        least: fewest speakers, for which speakers are left apart.
        most: largest number of speakers, to which speakers without a correction are joined with
            those whom they are nearest to; None: any.

    Raises:
        InputError: corrections name more people than there may be speakers.
    """
    names = corrections.names
    if most is not None and len(names) > most:
        raise InputError(
            f"corrections name {len(names)} people, but there are at most {most} speakers"
        )
    known = evidence(corrections, cells, names)  # (names, n)
    clusters, k = speakers.centroids, len(speakers)
    votes = np.zeros((len(names), k))  # seconds
    nearest = np.full(len(cells), -1)
    if k:
        nearest = squared_distances(vectors, clusters).argmin(axis=1)  # (n,)
        votes = known @ (nearest[:, None] == np.arange(k))  # (names, k)
    fresh = np.array([name not in before.values() for name in names], bool)  # (names,)
    groups = _join(_assign(votes, names, before), votes, fresh, least)
    centroids = _informed(known, fresh, groups[: len(names)], nearest, vectors, clusters)
    centroids += [clusters[c] for (c,) in groups[len(names) :]]
    found = np.reshape(centroids, (len(groups), vectors.shape[1]))  # (groups, p)
    labels = [*names, *(before.get(c) for (c,) in groups[len(names) :])]
    kept = _nearest_joined(found, len(names), most)
    return Corrected(
        tuple(labels[s] for s in kept),
        tuple(groups[s] for s in kept),
        replace(speakers, centroids=found[kept], told=None),
    )


def _informed(
    known: Float64[np.ndarray, "names n"],
    fresh: Bool[np.ndarray, " names"],
    groups: list[list[int]],
    nearest: Int64[np.ndarray, " n"],
    vectors: Float64[np.ndarray, "n p"],
    clusters: Float64[np.ndarray, "k p"],
) -> list[Float64[np.ndarray, " p"]]:
    """Centroids of the names: halfway from their clusters to what is known to be their voices.

    Stretches that bear a name of the result and lie in other clusters are what was wrong there, and
    no measure of the voice. A cluster in which several new names are heard is the voice of none.
    """
    centroids = []
    for name, (row, group) in enumerate(zip(known, groups, strict=True)):
        others = known[fresh & (np.arange(len(known)) != name)].any(axis=0)
        taught = row if fresh[name] or not group else row * np.isin(nearest, group)
        own = [clusters[c] for c in group if not (others & (nearest == c)).any()]
        if not own and not taught.any():
            own = [clusters[c] for c in group]
        voice = to_sphere(taught @ vectors)
        centroids.append(to_sphere(voice + to_sphere(np.sum(own, axis=0)) if own else voice))
    return centroids


def _join(
    owner: list[int],
    votes: Float64[np.ndarray, "names k"],
    fresh: Bool[np.ndarray, " names"],
    least: int,
) -> list[list[int]]:
    """Which clusters each name is, and after them each of the other clusters alone."""
    groups = [[c for c, j in enumerate(owner) if j == name] for name in range(len(fresh))]
    others = [c for c, j in enumerate(owner) if j < 0]
    spare = len(fresh) + len(others) - least
    for c in np.flatnonzero((votes > 0).sum(axis=0) == 1).tolist():
        name = int(votes[:, c].argmax())
        if c in others and fresh[name] and votes[name, c] >= JOIN and spare > 0:
            groups[name].append(c)
            others.remove(c)
            spare -= 1
    return groups + [[c] for c in others]


def _nearest_joined(
    centroids: Float64[np.ndarray, "k p"], n_named: int, most: int | None
) -> list[int]:
    """Who is left when those without a correction go to whom they are nearest to."""
    kept = list(range(len(centroids)))
    gaps = squared_distances(centroids, centroids)
    np.fill_diagonal(gaps, np.inf)
    while most is not None and len(kept) > most:
        kept.remove(min(kept[n_named:], key=lambda c: float(gaps[c, kept].min())))
    return kept


def _assign(
    votes: Float64[np.ndarray, "names k"], names: list[str], before: Mapping[int, str]
) -> list[int]:
    """Which name each cluster is; -1: none."""
    from scipy.optimize import linear_sum_assignment

    owner = [-1] * votes.shape[1]
    for column, name in before.items():
        if name in names:
            owner[column] = names.index(name)
    open_names = [j for j in range(len(names)) if j not in owner]
    open_columns = [c for c, j in enumerate(owner) if j < 0]
    free = votes[np.ix_(open_names, open_columns)]
    for row, column in zip(*linear_sum_assignment(-free), strict=True):
        if free[row, column] > FIT * votes[open_names[row]].sum():
            owner[open_columns[column]] = open_names[row]
    return owner
