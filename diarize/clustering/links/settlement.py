"""What a stream comes to in the end: who is a speaker, within bounds on their number.

Answers that were given at once cannot be changed; these are what they would be with hindsight.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import Bool, Float64, Int64

from diarize.clustering.base import MOST_SETS
from diarize.clustering.composition import Compose, compose_sets, most_speakers
from diarize.clustering.links.graph import LinkGraph
from diarize.clustering.links.stream import Place
from diarize.clustering.merging import ward_merges
from diarize.sets import enumerate_sets, to_sphere


@dataclass(frozen=True)
class Settlement:
    """Speakers, and which of them each cluster and each subcluster stands for."""

    centroids: Float64[np.ndarray, "k p"]  # unit vectors
    clusters: dict[int, tuple[int, ...]]  # of each living id
    slots: dict[int, tuple[int, ...]]  # of each slot that is in use
    max_set_size: int  # most speakers of a place

    def speakers_at(self, place: Place, graph: LinkGraph) -> tuple[int, ...]:
        """Whom a place stands for; of more than `max_set_size`, those who came first."""
        if isinstance(place, tuple):
            speakers = {s for c in place for s in self.clusters[graph.current(c)]}
            return tuple(sorted(speakers)[: self.max_set_size])
        return self.slots[graph.slot_of(place)]


def settle(
    graph: LinkGraph,
    *,
    compose: Compose | None,
    max_set_size: int,
    min_size: int,
    low: int,
    high: int,
) -> Settlement:
    """Decide on the speakers.

    A cluster of fewer than `min_size` vectors is no speaker, as long as there are others, but
    stands for the nearest set of speakers. Where there are too many, clusters merge by Ward's
    criterion; where there are too few, small clusters are speakers after all, and then clusters
    come apart into subclusters, where Ward's criterion would have merged them last.

    Args:
        graph: subclusters and clusters, at least one.
        compose: g; not used where `max_set_size` is 1.
        max_set_size: most speakers that a cluster stands for.
        min_size: of a speaker.
        low: least speakers; there are fewer where there are not as many subclusters.
        high: most speakers.
    """
    ids = sorted(graph.sizes, key=lambda cluster: (-graph.sizes[cluster], cluster))
    n_large = sum(graph.sizes[cluster] >= min_size for cluster in ids) or len(ids)
    large, small = ids[: max(n_large, low)], ids[max(n_large, low) :]
    owners = graph.owners[: graph.used]
    parts = [np.flatnonzero(owners == cluster) for cluster in large]
    if len(large) < low:
        parts = _come_apart(graph, parts, low - len(large))
    elif len(large) > high:
        sums = np.stack([graph.sums[slots].sum(axis=0) for slots in parts])
        counts = np.array([graph.counts[slots].sum() for slots in parts])
        parts = _merged(parts, islice(ward_merges(sums, counts), len(parts) - high))
    parts.sort(key=lambda slots: int(graph.serials[slots].min()))
    sums = np.stack([graph.sums[slots].sum(axis=0) for slots in parts])
    centroids = to_sphere(sums)

    slots: dict[int, tuple[int, ...]] = {
        int(slot): (speaker,) for speaker, part in enumerate(parts) for slot in part
    }
    sizes = [int(graph.counts[part].sum()) for part in parts]
    clusters: dict[int, tuple[int, ...]] = {}
    for speaker in np.argsort(sizes, kind="stable"):  # the largest part answers for a cluster
        for slot in parts[speaker]:
            clusters[int(owners[slot])] = (int(speaker),)
    if small:
        sets = _sets_of_largest(np.array(sizes), max_set_size)
        places = to_sphere(np.nan_to_num(compose_sets(compose, centroids, sets)))
        for cluster in small:
            total = graph.totals[cluster]
            nearest = sets[int((places @ total).argmax())]
            clusters[cluster] = tuple(np.flatnonzero(nearest).tolist())
            for slot in np.flatnonzero(owners == cluster):
                slots[int(slot)] = clusters[cluster]
    return Settlement(centroids, clusters, slots, max_set_size)


def _sets_of_largest(sizes: Int64[np.ndarray, " k"], max_set_size: int) -> Bool[np.ndarray, "m k"]:
    """All single speakers, and the sets of so many of the largest as may be looked at."""
    k = len(sizes)
    most = most_speakers(k, max_set_size, MOST_SETS)
    largest = np.sort(np.argsort(-sizes, kind="stable")[:most])
    several = np.zeros((0, k), dtype=bool)
    if max_set_size > 1 and most > 1:
        chosen = enumerate_sets(most, max_set_size)[most:]
        several = np.zeros((len(chosen), k), dtype=bool)
        several[:, largest] = chosen
    return np.concatenate([np.eye(k, dtype=bool), several])


def _merged(groups: list[np.ndarray], merges: Iterable[tuple[int, int, float]]) -> list[np.ndarray]:
    """The groups after these merges, in which the first stays and the second goes."""
    for stays, goes, _ in merges:
        groups[stays] = np.concatenate([groups[stays], groups[goes]])
        groups[goes] = groups[goes][:0]
    return [group for group in groups if len(group)]


def _come_apart(graph: LinkGraph, parts: list[np.ndarray], missing: int) -> list[np.ndarray]:
    """Undo the costliest merges of subclusters into clusters, as far as there are any."""
    trees = [list(ward_merges(graph.sums[slots], graph.counts[slots])) for slots in parts]
    # The costs of a tree rise from merge to merge, so what is undone are the last ones of each.
    costs = sorted(
        (
            (cost, part, step)
            for part, tree in enumerate(trees)
            for step, (*_, cost) in enumerate(tree)
        ),
        key=lambda entry: (-entry[0], entry[1], -entry[2]),
    )
    undone = [0] * len(parts)
    for _, part, _ in costs[:missing]:
        undone[part] += 1
    found = []
    for slots, tree, n_undone in zip(parts, trees, undone, strict=True):
        found += _merged(
            [slots[i : i + 1] for i in range(len(slots))], tree[: len(tree) - n_undone]
        )
    return found


def single_out(
    rows: Float64[np.ndarray, "n p"],
    membership: Bool[np.ndarray, "n k"],
    centroids: Float64[np.ndarray, "k p"],
    n_speakers: int,
) -> tuple[Bool[np.ndarray, "n s"], Float64[np.ndarray, "s p"]]:
    """Make rows speakers of their own, those least like where they belong first.

    Args:
        rows: unit vectors, at least `n_speakers`.
        membership: whom each row holds; everybody holds a row alone.
        centroids: of the k speakers, fewer than `n_speakers`.
        n_speakers: how many there shall be.
    """
    missing = n_speakers - len(centroids)
    likeness = np.einsum("np,np->n", rows, to_sphere(membership @ centroids))
    alone = membership.sum(axis=1) == 1
    left = membership[alone].sum(axis=0)  # rows that each speaker holds alone
    chosen: list[int] = []
    for row in np.argsort(likeness, kind="stable"):
        if len(chosen) == missing:
            break
        if alone[row]:
            speaker = membership[row].argmax()
            if left[speaker] == 1:
                continue
            left[speaker] -= 1
        chosen.append(int(row))
    apart = np.zeros((len(rows), missing), dtype=bool)
    apart[chosen, np.arange(missing)] = True
    staying = np.where(apart.any(axis=1, keepdims=True), False, membership)
    return np.concatenate([staying, apart], axis=1), np.concatenate([centroids, rows[chosen]])
