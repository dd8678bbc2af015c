"""Time cut into elementary intervals, in which neither reference nor hypothesis changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64
from pyannote.core import Annotation, Timeline

from diarize.sets import SpeakerSets

# Boundaries are whole microseconds: two that are written alike are one, and sums are exact.
TICKS_PER_SECOND = 1_000_000


@dataclass(frozen=True)
class Elements:
    """The n elementary intervals of the evaluated regions, in order of time.

    `start` and `end` are in ticks; `reference` and `hypothesis` are the speakers of each interval,
    an instant counted once however many turns of one speaker hold it; `in_der` is false within a
    collar and, where overlap is skipped, where the reference has several speakers.
    """

    start: Int64[np.ndarray, " n"]
    end: Int64[np.ndarray, " n"]
    reference: SpeakerSets  # (n, r)
    hypothesis: SpeakerSets  # (n, h)
    in_der: Bool[np.ndarray, " n"]

    @property
    def duration(self) -> Int64[np.ndarray, " n"]:
        """Length of each interval in ticks, at least one."""
        return self.end - self.start

    def shared_time(self) -> Int64[np.ndarray, "r h"]:
        """Ticks in which each reference speaker and each hypothesis speaker both speak."""
        # As float64 it goes through BLAS, and is exact below 2^53 ticks, three centuries.
        weighted = self.reference.membership * self.duration[:, None].astype(np.float64)
        shared = weighted.T @ self.hypothesis.membership.astype(np.float64)
        return shared.astype(np.int64)


def decompose(
    reference: Annotation,
    hypothesis: Annotation,
    uem: Timeline | None = None,
    *,
    collar: float = 0.0,
    skip_overlap: bool = False,
) -> Elements:
    """Cut the evaluated time at every boundary of a turn, a region or a collar.

    `uem` None: all time is evaluated, as in dscore (md-eval then stops where the reference ends,
    and does not see what the hypothesis says later). `collar` is in seconds on each side of every
    boundary of every reference turn, as in md-eval.
    """
    said, speakers = _turns(reference)
    heard, names = _turns(hypothesis)
    margin = round(collar * TICKS_PER_SECOND)
    edges = said.reshape(-1, 1)
    collars = edges + np.array([-margin, margin]) if margin else _NOTHING
    regions = _NOTHING if uem is None else _ticks([(part.start, part.end) for part in uem])
    cuts = np.unique(np.concatenate([said, heard, collars, regions], axis=None))

    evaluated = np.ones(max(len(cuts) - 1, 0), dtype=bool)
    if uem is not None:
        evaluated = _any_cover(cuts, regions)
    truth = SpeakerSets(_cover(cuts, said, speakers)[evaluated])
    in_der = ~_any_cover(cuts, collars)[evaluated]
    if skip_overlap:
        in_der &= truth.sizes < 2
    return Elements(
        start=cuts[:-1][evaluated],
        end=cuts[1:][evaluated],
        reference=truth,
        hypothesis=SpeakerSets(_cover(cuts, heard, names)[evaluated]),
        in_der=in_der,
    )


_NOTHING = np.empty((0, 2), dtype=np.int64)


def _ticks(seconds: list[tuple[float, float]]) -> Int64[np.ndarray, "m 2"]:
    return np.rint(np.array(seconds, dtype=np.float64).reshape(-1, 2) * TICKS_PER_SECOND).astype(
        np.int64
    )


def _turns(annotation: Annotation) -> tuple[Int64[np.ndarray, "m 2"], Int64[np.ndarray, " m"]]:
    """Boundaries of all turns in ticks, and the index of each turn's speaker."""
    index = {label: position for position, label in enumerate(annotation.labels())}
    tracks = list(annotation.itertracks(yield_label=True))
    speakers = np.array([index[label] for _, _, label in tracks], dtype=np.int64)
    return _ticks([(turn.start, turn.end) for turn, _, _ in tracks]), speakers


def _cover(
    cuts: Int64[np.ndarray, " c"],
    intervals: Int64[np.ndarray, "m 2"],
    owners: Int64[np.ndarray, " m"],
) -> Bool[np.ndarray, "n k"]:
    """Which of the k owners has an interval that covers the time from each cut to the next."""
    covered = np.zeros((max(len(cuts) - 1, 0), owners.max(initial=-1) + 1), dtype=bool)
    for (first, last), owner in zip(np.searchsorted(cuts, intervals), owners, strict=True):
        covered[first:last, owner] = True
    return covered


def _any_cover(
    cuts: Int64[np.ndarray, " c"], intervals: Int64[np.ndarray, "m 2"]
) -> Bool[np.ndarray, " n"]:
    """Whether any interval covers the time from each cut to the next."""
    covered = _cover(cuts, intervals, np.zeros(len(intervals), dtype=np.int64))
    return np.logical_or.reduce(covered, axis=1)
