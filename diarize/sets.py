"""Sets of speakers, the one label type of the toolkit, and where speakers and their sets lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, NoReturn

import numpy as np
from jaxtyping import Bool, Float, Float64, Int64


class SpeakerSets:
    """The set of speakers of every row, immutable.

    `membership` is a boolean array of shape (n, k), read-only: `membership[i, j]` says that row i
    holds speaker j. A row without any speaker is nobody. Two labelings are equal when their arrays
    are, speaker names (columns) included.

    Args:
        membership: anything that numpy reads as (n, k) booleans, zeros and ones.

    Raises:
        ValueError: the array is not two-dimensional or holds something else than truth values.
    """

    membership: Bool[np.ndarray, "n k"]

    def __init__(self, membership: Any) -> None:
        given = np.asarray(membership)
        if given.ndim != 2:
            raise ValueError(f"speaker sets need a 2-D array (rows, speakers), got {given.ndim}-D")
        own = given.astype(bool)  # always a copy: nobody else can change it
        if given.dtype != np.bool_ and not np.array_equal(own, given):
            raise ValueError("speaker sets need truth values: an entry is neither 0 nor 1")
        own.flags.writeable = False
        object.__setattr__(self, "membership", own)

    @classmethod
    def from_lists(
        cls, lists: Iterable[Iterable[int]], n_speakers: int | None = None
    ) -> SpeakerSets:
        """Sets from one list of speaker indices per row; `n_speakers` None: the largest index + 1.

        Raises:
            ValueError: an index is negative, or not below `n_speakers`.
        """
        rows = [list(row) for row in lists]
        columns = np.array([speaker for row in rows for speaker in row], dtype=np.int64)
        if columns.size and columns.min() < 0:
            raise ValueError(f"a speaker index cannot be negative, got {columns.min()}")
        k = int(columns.max(initial=-1)) + 1
        if n_speakers is not None:
            if k > n_speakers:
                raise ValueError(f"speaker index {k - 1} is too large for {n_speakers} speakers")
            k = n_speakers
        membership = np.zeros((len(rows), k), dtype=bool)
        membership[np.repeat(np.arange(len(rows)), [len(row) for row in rows]), columns] = True
        return cls(membership)

    @classmethod
    def from_labels(cls, labels: Any) -> SpeakerSets:
        """One speaker per row, column = label; a negative label is nobody.

        Raises:
            ValueError: the labels are not a 1-D sequence of integers.
        """
        given = np.asarray(labels)
        if given.ndim != 1 or (given.size and given.dtype.kind not in "iu"):
            raise ValueError("labels must be a 1-D sequence of integers")
        given = given.astype(np.int64)
        return cls(given[:, None] == np.arange(given.max(initial=-1) + 1))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("speaker sets cannot be changed; make new ones")

    def __reduce__(self) -> tuple[type[SpeakerSets], tuple[np.ndarray]]:
        return SpeakerSets, (self.membership,)  # numpy would give back an array that can change

    def __len__(self) -> int:
        return len(self.membership)

    def __getitem__(self, rows: Any) -> SpeakerSets:
        """Sets of the chosen rows (a slice, indices or a boolean mask); all columns stay."""
        chosen = self.membership[rows]
        if chosen.ndim != 2:
            raise TypeError("choose rows by a slice, indices or a mask, not by a single number")
        return SpeakerSets(chosen)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SpeakerSets):
            return NotImplemented
        return np.array_equal(self.membership, other.membership)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join("{" + ", ".join(map(str, row)) + "}" for row in self[:6].to_lists())
        more = ", ..." if len(self) > 6 else ""
        return f"SpeakerSets([{shown}{more}], n={len(self)}, n_speakers={self.n_speakers})"

    @property
    def n_speakers(self) -> int:
        """Number of columns, empty ones included."""
        return self.membership.shape[1]

    @property
    def sizes(self) -> Int64[np.ndarray, " n"]:
        """Number of speakers in each row, shape (n,)."""
        return self.membership.sum(axis=1, dtype=np.int64)

    @property
    def labels(self) -> Int64[np.ndarray, " n"]:
        """Integer id of each row's set, shape (n,): ids count up in order of first appearance."""
        return self._ids[1]

    def distinct(self) -> tuple[SpeakerSets, Int64[np.ndarray, " n"]]:
        """The m different sets in order of first appearance, and the id (n,) of each row's set."""
        first_rows, ids = self._ids
        return self[first_rows], ids

    @cached_property
    def _ids(self) -> tuple[Int64[np.ndarray, " m"], Int64[np.ndarray, " n"]]:
        """First row of each distinct set, and the id of every row; both in order of appearance."""
        # Bits packed into words of 64, so that the usual case (k <= 64) sorts plain integers.
        packed = np.packbits(self.membership, axis=1)
        words = max(1, -(-self.n_speakers // 64))
        keys = np.zeros((len(self), words * 8), dtype=np.uint8)
        keys[:, : packed.shape[1]] = packed
        keys64 = keys.view(np.uint64)
        _, first, inverse = np.unique(
            keys64[:, 0] if words == 1 else keys64,
            axis=0,
            return_index=True,
            return_inverse=True,
        )
        order = np.argsort(first)
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        ids = rank[inverse.reshape(-1)]
        ids.flags.writeable = False
        return first[order].astype(np.int64), ids

    def contingency(
        self, other: SpeakerSets
    ) -> tuple[SpeakerSets, SpeakerSets, Int64[np.ndarray, "m1 m2"]]:
        """How often each own set meets each set of `other` on the same row.

        Returns the m1 distinct sets of this labeling, the m2 distinct sets of the other, and the
        counts of shape (m1, m2), which add up to n.

        Raises:
            ValueError: the two labelings differ in length.
        """
        if len(self) != len(other):
            raise ValueError(f"labelings of {len(self)} and {len(other)} rows cannot be compared")
        own, own_ids = self.distinct()
        others, other_ids = other.distinct()
        counts = np.bincount(own_ids * len(others) + other_ids, minlength=len(own) * len(others))
        return own, others, counts.reshape(len(own), len(others)).astype(np.int64)

    def subsumption(self) -> Bool[np.ndarray, "n n"]:
        """Shape (n, n): entry [i, j] says that row i is a superset of, or equal to, row j."""
        # j is inside i when no speaker of j is missing in i; float32 counts exactly up to 2^24.
        missing = (~self.membership).astype(np.float32) @ self.membership.T.astype(np.float32)
        return missing == 0

    def shared_rows(self, other: SpeakerSets) -> Int64[np.ndarray, "k1 k2"]:
        """How many rows each speaker shares with each one of `other`."""
        return self.membership.T.astype(np.int64) @ other.membership.astype(np.int64)

    def matched(self, other: SpeakerSets) -> dict[int, int]:
        """Which speaker of `other` each one is: one to one, such that they share most rows.

        Who shares no row with his match is left out.
        """
        from scipy.optimize import linear_sum_assignment

        shared = self.shared_rows(other)
        pairs = zip(*linear_sum_assignment(-shared), strict=True)
        return {int(own): int(theirs) for own, theirs in pairs if shared[own, theirs]}

    @property
    def appearance(self) -> Int64[np.ndarray, " used"]:
        """Non-empty columns in order of first appearance; of one row, the lower column first."""
        used = np.flatnonzero(self.membership.any(axis=0))
        first = self.membership[:, used].argmax(axis=0) if len(used) else used
        return used[np.argsort(first, kind="stable")]

    def by_first_appearance(self) -> SpeakerSets:
        """Columns in order of first appearance; empty columns are dropped.

        Of speakers who first appear in the same row the one with the lower old column comes first.
        """
        return SpeakerSets(self.membership[:, self.appearance])

    def to_lists(self) -> list[list[int]]:
        """One ascending list of speaker indices per row."""
        columns = np.nonzero(self.membership)[1].tolist()
        ends = np.cumsum(self.sizes).tolist()
        return [columns[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def enumerate_sets(n_speakers: int, max_set_size: int) -> Bool[np.ndarray, "m k"]:
    """All sets of 1 to `max_set_size` of k speakers: by size, then in lexicographic order."""
    members = [
        chosen
        for size in range(1, min(max_set_size, n_speakers) + 1)
        for chosen in combinations(range(n_speakers), size)
    ]
    sets = np.zeros((len(members), n_speakers), dtype=bool)
    for row, chosen in enumerate(members):
        sets[row, list(chosen)] = True
    return sets


@dataclass(frozen=True, eq=False)
class Speakers:
    """Who was found: all that is needed of a clustering, or of a person's word, to make turns.

    Attributes:
        centroids: where each of k speakers lies.
        compose: g over sets: centroids (k, p) and sets (m, k) of one or more to places (m, p).
        largest: size of the largest set that is looked for.
        told: the sets of the windows that are decoded, where they are told and not looked for.
    """

    centroids: Float64[np.ndarray, "k p"]
    compose: Callable[[Any, Any], Any]
    largest: int
    told: SpeakerSets | None = None

    def __len__(self) -> int:
        return len(self.centroids)

    def sets(self) -> SpeakerSets:
        """All sets that are looked for, those of one speaker first."""
        return SpeakerSets(enumerate_sets(len(self), self.largest))

    def places(self, sets: SpeakerSets) -> Float64[np.ndarray, "m p"]:
        """Where sets lie; nobody is where nothing is."""
        places = np.zeros((len(sets), self.centroids.shape[1]))  # (m, p)
        somebody = sets.sizes > 0
        places[somebody] = self.compose(self.centroids, sets.membership[somebody])
        return places


def to_sphere(vectors: Float64[np.ndarray, "*b p"]) -> Float64[np.ndarray, "*b p"]:
    """Unit vectors of the same directions; a zero vector stays."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return vectors / np.where(lengths > 0, lengths, 1)


def squared_distances(
    rows: Float[np.ndarray, "n p"], centers: Float64[np.ndarray, "*b m p"]
) -> Float64[np.ndarray, "*b n m"]:
    """Squared Euclidean distances of all rows from all centers, none below zero.

    A composition that is undefined is infinitely far.
    """
    rows = rows.astype(np.float64, copy=False)
    squares = (rows**2).sum(axis=1)[:, None] + (centers**2).sum(axis=-1)[..., None, :]
    squares -= 2 * (rows @ centers.swapaxes(-1, -2))
    return np.asarray(np.maximum(np.nan_to_num(squares, nan=np.inf, posinf=np.inf), 0.0))
