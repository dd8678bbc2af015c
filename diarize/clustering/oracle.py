"""The truth as a clustering, so that an error can be blamed on another stage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float64

from diarize.clustering.base import Answer, Clusterer, SpeakerBounds
from diarize.clustering.checks import Rows
from diarize.clustering.geometry import cluster_means, lie_on_sphere
from diarize.sets import SpeakerSets, to_sphere

NO_SETS = "y must be the set of speakers of each row, not one number of each"


class Oracle(Clusterer):
    """The true sets, handed to `fit` as y: what perfect clustering would answer.

    The truth wins over all options, which are known here because they are known to all
    clusterings: it may have another number of speakers, and larger sets.
    """

    composes = False

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True  # a row has any number of speakers
        tags.target_tags.single_output = False
        return tags

    def _prepare(
        self, rows: Rows, y: Any, bounds: SpeakerBounds, generator: np.random.Generator
    ) -> Callable[[SpeakerBounds], Answer]:
        return lambda _: self._told(rows, y)

    def _told(self, rows: Rows, y: Any) -> Answer:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: "
                "it needs the truth, the set of speakers of each row"
            )
        truth = _truth(y)
        if len(truth) != len(rows):
            raise ValueError(f"the truth has {len(truth)} rows, but there are {len(rows)} rows")
        return truth, _single_means(rows, truth)


def _truth(y: Any) -> SpeakerSets:
    """Sets, lists of the speakers of each row, or who is in each row: booleans, zeros and ones."""
    if isinstance(y, SpeakerSets):
        return y
    if isinstance(y, np.ndarray) and y.dtype != object:
        if y.ndim != 2:
            raise ValueError(NO_SETS)
        if y.dtype == bool or (y.shape[1] > 1 and np.isin(y, (0, 1)).all()):
            return SpeakerSets(y)
        if not (y == np.floor(y)).all():
            raise ValueError("y must be the set of speakers of each row, by whole numbers")
        y = y.astype(int).tolist()  # a column of numbers: one speaker in each row
    try:
        rows = [list(row) for row in y]
    except TypeError:
        raise ValueError(NO_SETS) from None
    if any(isinstance(one, bool | np.bool_) for row in rows for one in row):
        return SpeakerSets(rows)
    return SpeakerSets.from_lists(rows)


def _single_means(rows: Rows, truth: SpeakerSets) -> Float64[np.ndarray, "k p"]:
    """Mean of the rows in which a speaker is alone, or of all his rows if he never is."""
    centroids = np.zeros((truth.n_speakers, rows.shape[1]))
    for speaker, holds in enumerate(truth.membership.T):
        alone = holds & (truth.sizes == 1)
        if holds.any():
            chosen = alone if alone.any() else holds
            centroids[speaker] = rows[chosen].mean(axis=0, dtype=np.float64)
    return to_sphere(centroids) if lie_on_sphere(rows) else centroids


class OSC(Oracle):
    """Oracle singleton clustering: each true set (y of `fit`) is a speaker of its own.

    What a perfect clustering would answer that cannot infer compositions. Rows of nobody stay
    rows of nobody.
    """

    finds_overlap = False

    def _told(self, rows: Rows, y: Any) -> Answer:
        truth, _ = super()._told(rows, y)
        spoken = truth.sizes > 0
        labels = np.full(len(truth), -1)
        clusters, labels[spoken] = truth[spoken].distinct()
        if not spoken.any():
            return SpeakerSets(np.zeros((len(rows), 0))), np.zeros((0, rows.shape[1]))
        means = cluster_means(rows[spoken], labels[spoken], len(clusters))
        return SpeakerSets.from_labels(labels), means
