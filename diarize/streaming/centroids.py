"""Who can be heard live: compositional k-means in small steps, over what is remembered.

Every new window is remembered, and moves the speakers' centroids by one step: all that is
remembered goes to the nearest set, and each centroid to where the windows lie that he holds alone.
Now and then the criterion by which a recording's speakers are counted is asked whether one more
speaker would explain what is remembered better, or one fewer. And now and then all of it is
clustered as a recording is (`diarize.streaming.review`): whoever that finds, these are the
speakers, and only what was heard since can tell of somebody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np
from jaxtyping import Float32, Float64, Int64

from diarize.clustering.composition import Compose, most_speakers
from diarize.clustering.gradient import SetComposer
from diarize.clustering.selection import Criterion
from diarize.errors import InputError
from diarize.scatter import Scatter
from diarize.sets import SpeakerSets, enumerate_sets, to_sphere
from diarize.streaming.live_speakers import MOST_STATES, LiveSpeakers

EVERY = 2  # windows, 0.4 s, from one look at how many speakers there are to the next
SEEDS = 3  # windows that are tried as a new speaker's first centroid
SCREEN = 0.25  # share of what a speaker costs that his first window must gain by itself
APART = 0.5  # squared distance that these have from one another
FAR = 4.0  # the largest squared distance of unit vectors
STEPS = 2  # of a trial with one speaker more, or fewer
SURE = 80  # windows, forty seconds of speech, of which a review may find fewer than are heard live
NEWS = 0.5  # share of a new speaker's windows that the last review has not seen


@dataclass(frozen=True, kw_only=True)
class CentroidOptions:
    """Options of the live clustering `ckm`.

    Attributes:
        count_penalty: factor on the evidence that a speaker must bring; below 1 speakers are born
            earlier, and more of them in error.
        memory: windows that are remembered, of a fifth of a second each.
    """

    count_penalty: float = 0.85
    memory: int = 1000

    def __post_init__(self) -> None:
        number = isinstance(self.count_penalty, Real)
        if not (number and 0 < self.count_penalty < np.inf):
            raise InputError(f"count_penalty is a number above 0, not {self.count_penalty}")
        if not (isinstance(self.memory, int) and self.memory >= 10):
            raise InputError(f"memory is a whole number of windows from 10 on, not {self.memory}")


class LiveCentroids:
    """Speakers whose centroids follow what is heard.

    `scatter` is that of windows as near to each other as these; `most` speakers are heard at a
    time, None: as many as can be decoded among.

    Attributes:
        became: of two speakers that turned out to be one, whom the one that came later became.
        most: speakers at a time.
        taken: windows that were taken in so far.
    """

    fine = True
    """Short windows hold one voice where turns are short, and tell soonest of somebody new."""

    def __init__(
        self,
        dimension: int,
        max_set_size: int,
        compose: Compose,
        scatter: Scatter,
        most: int | None = None,
        options: CentroidOptions | None = None,
    ) -> None:
        self._options = options or CentroidOptions()
        self._largest, self._compose, self._scatter = max_set_size, compose, scatter
        self.most = most_speakers(most or MOST_STATES, max_set_size, MOST_STATES)
        self._composers: dict[int, SetComposer] = {}  # by number of speakers
        self._rows = np.zeros((0, dimension), np.float32)  # (n, p), what is remembered
        self._ids: list[int] = []
        self._centroids = np.zeros((0, dimension))  # (k, p)
        self._born = self.taken = 0
        self._reviewed = 0  # windows that had been taken in when the last review began
        self.became: dict[int, int] = {}

    def take(self, rows: Float32[np.ndarray, "n p"]) -> None:
        """Take in the windows that follow those of the last call."""
        for row in rows:
            if not self._ids:
                self._bear(row[None].astype(np.float64))
            self._remember(row)
            now = self._fit(self._centroids[None], steps=1)
            self._centroids = now.centroids[0]
            self.taken += 1
            if self.taken % EVERY == 0:
                criterion = Criterion.of(self._rows, self._options.count_penalty, self._scatter)
                if not self._add(now, criterion):
                    self._merge(now, criterion)

    def learn(
        self,
        rows: Float32[np.ndarray, "n p"],
        sets: SpeakerSets,
        centroids: Float64[np.ndarray, "k p"],
        after: int,
    ) -> None:
        """Take over the speakers of a review.

        One of them keeps the id of who shares most windows with him. Of who was known before and is
        not found, whoever has most of his windows is what he became; who has none of these windows
        was heard before or after them, and stays.

        Args:
            rows: windows that were clustered.
            sets: whom each of them holds.
            centroids: of these speakers.
            after: windows that had been taken in here when the review began.
        """
        k = len(self._ids)
        if len(centroids) < k and len(rows) < SURE:  # in a few long windows two may look like one
            return
        costs = self._costs(self._composer(k)(self._centroids[None]), rows)[0]  # (n, m)
        before = SpeakerSets(self._composer(k).sets[costs.argmin(axis=1)])
        known = before.matched(sets)
        shared = before.shared_rows(sets)  # (known, found)
        number = {found: self._ids[old] for old, found in known.items()}
        ids = [number.get(found, self._born + found) for found in range(len(centroids))]
        self._born += len(centroids)
        found_at = [to_sphere(centroids)]
        for old in sorted(set(range(k)) - set(known)):
            if shared[old].any():
                found = int(shared[old].argmax())
                ids[found], late = sorted((self._ids[old], ids[found]))
                self.became[late] = ids[found]
            elif len(ids) < self.most:
                ids.append(self._ids[old])
                found_at.append(self._centroids[old : old + 1])
        self._ids, self._centroids = ids, np.concatenate(found_at)
        self._reviewed = after

    def speakers(self) -> LiveSpeakers:
        """Among whom is decoded."""
        composer = self._composer(len(self._ids))
        places = composer(self._centroids[None])[0]
        return LiveSpeakers(tuple(self._ids), SpeakerSets(composer.sets), places)

    def _bear(self, centroids: Float64[np.ndarray, "k p"]) -> None:
        """The last of these centroids is of somebody new."""
        self._ids.append(self._born)
        self._born += 1
        self._centroids = centroids

    def _remember(self, row: Float32[np.ndarray, " p"]) -> None:
        """Where there is no room, the oldest window goes of the set that holds most: so who speaks
        little is remembered, too.
        """
        if len(self._rows) >= self._options.memory:
            labels = self._fit(self._centroids[None], steps=0).labels[0]
            oldest = int((labels == np.bincount(labels).argmax()).argmax())
            self._rows = np.delete(self._rows, oldest, axis=0)
        self._rows = np.concatenate([self._rows, row[None]])

    def _add(self, now: Fitted, criterion: Criterion) -> bool:
        """See whether there is somebody who was not known: a centroid at one of the windows that
        would take most off what the others leave unexplained.
        """
        k = len(self._ids)
        if k >= self.most:
            return False
        new = slice(max(0, len(self._rows) - (self.taken - self._reviewed)), None)
        gaps = 2 - 2 * (self._rows[new] @ self._rows.T)  # (new, n)
        gains = np.maximum(now.costs[0][new, None] - gaps, 0).sum(axis=0)  # (n,)
        # A window lies twice as far from another one of its speaker as from the centroid.
        if gains.max() < SCREEN * criterion(0.0, np.ones(1), 1):
            return False
        trials: list[np.ndarray] = []
        while len(trials) < SEEDS and gains.max() > 0:
            seed = int(gains.argmax())
            trials.append(np.concatenate([self._centroids, self._rows[seed : seed + 1]]))
            gains[2 - 2 * (self._rows @ self._rows[seed]) < APART] = 0.0
        tried = self._fit(np.stack(trials).astype(np.float64), STEPS)
        best, value = tried.best(criterion)
        if value >= now.best(criterion)[1]:
            return False
        theirs = self._composer(k + 1).sets[tried.labels[best]][:, k]  # (n,)
        if theirs[new].sum() < NEWS * theirs.sum():
            return False
        self._bear(tried.centroids[best])
        return True

    def _merge(self, now: Fitted, criterion: Criterion) -> None:
        """See whether one speaker is another one, or a set of others."""
        k = len(self._ids)
        if k < 2:
            return
        trials = np.stack([np.delete(self._centroids, j, axis=0) for j in range(k)])
        tried = self._fit(trials, STEPS)
        gone, value = tried.best(criterion)
        if value >= now.best(criterion)[1]:
            return
        held = self._composer(k).sets[now.labels[0]][:, gone]  # (n,)
        after = self._composer(k - 1).sets[tried.labels[gone][held]].sum(axis=0)  # (k - 1,)
        number = self._ids.pop(gone)
        other = int(after.argmax())
        # Most was said, mostly, under the name that was first.
        self._ids[other], late = sorted((number, self._ids[other]))
        self.became[late] = self._ids[other]
        self._centroids = tried.centroids[gone]

    def _fit(self, centroids: Float64[np.ndarray, "r k p"], steps: int) -> Fitted:
        """Move r times k centroids so many steps, each for itself."""
        composer = self._composer(centroids.shape[1])
        for _ in range(steps):
            labels = self._costs(composer(centroids), self._rows).argmin(axis=2)  # (r, n)
            # Sets of one speaker are the first k.
            alone = (labels[:, None] == np.arange(centroids.shape[1])[:, None]).astype(np.float32)
            sums = (alone @ self._rows).astype(np.float64)  # (r, k, p)
            known = sums.any(axis=2, keepdims=True)
            centroids = np.where(known, to_sphere(sums), centroids)
        costs = self._costs(composer(centroids), self._rows)  # (r, n, m)
        return Fitted(centroids, costs.argmin(axis=2), costs.min(axis=2))

    def _costs(
        self, places: Float64[np.ndarray, "r m p"], rows: Float32[np.ndarray, "n p"]
    ) -> Float32[np.ndarray, "r n m"]:
        """Squared distances of unit vectors from unit places; one that is undefined is far."""
        costs = 2 - 2 * (rows @ places.astype(np.float32).swapaxes(1, 2))
        return np.maximum(np.nan_to_num(costs, nan=FAR), 0)

    def _composer(self, k: int) -> SetComposer:
        if k not in self._composers:
            sets = enumerate_sets(k, self._largest)
            self._composers[k] = SetComposer(self._compose, sets, self._rows.shape[1])
        return self._composers[k]


@dataclass(frozen=True, eq=False)
class Fitted:
    """What r times k centroids came to.

    Attributes:
        centroids: of the speakers.
        labels: the nearest set of each window.
        costs: its squared distance.
    """

    centroids: Float64[np.ndarray, "r k p"]
    labels: Int64[np.ndarray, "r n"]
    costs: Float32[np.ndarray, "r n"]

    def best(self, criterion: Criterion) -> tuple[int, float]:
        """The number of the best one, and what the criterion says of it."""
        k = self.centroids.shape[1]
        values = [
            criterion(float(costs.sum()), np.bincount(labels).astype(np.float64), k)
            for labels, costs in zip(self.labels, self.costs, strict=True)
        ]
        best = int(np.argmin(values))
        return best, values[best]
