"""The past is clustered anew and settled: the batch stages on what a stream left behind."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float32, Float64

from diarize.activity.counts import VoiceCounts
from diarize.sets import SpeakerSets
from diarize.streaming.turns import by_sets
from diarize.timeline import TimelineOptions
from diarize.timeline.confidence import Certainty, certainty
from diarize.timeline.decoding import decoder
from diarize.timeline.resegmentation import find_turns
from diarize.timeline.speaker_count import fit_and_prune

if TYPE_CHECKING:
    from diarize.embedding import Knowledge

Stretch = tuple[float, float, tuple[str, ...]]

Decodable = tuple[
    Float64[np.ndarray, "n 2"],  # cells of the windows that are decoded
    Float32[np.ndarray, "n p"],  # their vectors
    VoiceCounts | None,  # how many were heard in these cells; None: nobody listened for that
]


class Settler:
    """Clusters all that was heard so far, and settles the part that was not settled before.

    A speaker keeps the name under which passes before spoke of it: names go to the speakers that
    share most windows with those of the pass before. Where there are as many names as there may be
    speakers, whoever shares none gets that of the speaker whom he is most like and who is gone.

    Args:
        options: of the timeline.
        least: so many speakers are named, however short their turns are.
        most: so many are named at most; None: as many as are found.

    Attributes:
        certainty: how sure a stream is that was settled all at once; None: it was not.
    """

    certainty: Certainty | None = None

    def __init__(self, options: TimelineOptions, least: int = 0, most: int | None = None) -> None:
        self._options = options
        self._least, self._most = least, most
        self._before = SpeakerSets(np.zeros((0, 0), bool))
        self._names: list[str | None] = []  # of the columns of these
        self._named: dict[str, Float64[np.ndarray, " p"]] = {}  # all that were, and where they lay

    def settle(
        self,
        estimator: Any,
        known: Knowledge,
        coarse: Float32[np.ndarray, "m p"],
        heard: Decodable,
        short: Float32[np.ndarray, "n p"],
        begin: float,
        end: float,
    ) -> list[Stretch]:
        """Say who spoke from `begin` to `end`.

        Args:
            estimator: a clustering, not fitted yet.
            known: of the embedding.
            coarse: vectors of all windows that are clustered, from the beginning of the stream.
            heard: the windows that are decoded; from the beginning, or from some minutes before
                `begin` on.
            short: vectors of shorter ones of the same cells, by which turns are decoded.
            begin: seconds up to which all is settled.
            end: seconds up to which it shall be.

        Returns:
            Begin, end and speakers, in order; nothing where nobody speaks.
        """
        whole = begin == 0
        least = self._least if whole else 0
        decoded = decoder(*heard, self._options, least, everybody=whole)
        if whole:  # of a part of it, turns do not tell how many
            estimator, found = fit_and_prune(estimator, coarse, decoded, known.likeness)
        else:
            found = decoded(estimator.fit(coarse))
        found = find_turns(found, short, estimator.speakers(), everybody=whole)
        pairs = self._before.matched(estimator.sets_[: len(self._before)]).items()
        matched = {now: self._names[before] for before, now in pairs}
        names = [matched.get(now) for now in range(estimator.n_speakers_)]  # None: a new speaker
        settled = []
        for b, e, speakers in by_sets(found.turns, begin, end):
            for speaker in sorted(speakers):
                if names[speaker] is None:
                    names[speaker] = self._name(estimator.centroids_[speaker], names)
            settled.append((b, e, tuple(sorted(str(names[speaker]) for speaker in speakers))))
        if whole and end == math.inf:
            named = replace(found, names={who: str(names[who]) for who in found.names})
            self.certainty = certainty(named, known, self._least, self._most)
        self._before, self._names = estimator.sets_, names
        self._named |= {
            name: centroid
            for name, centroid in zip(names, estimator.centroids_, strict=True)
            if name is not None
        }
        return settled

    def _name(self, centroid: Float64[np.ndarray, " p"], taken: Collection[str | None]) -> str:
        """A name for a speaker who has none, beside those that are taken."""
        if self._most is None or len(self._named) < self._most:
            name = f"SPEAKER_{len(self._named):02d}"
        else:
            gone = [name for name in self._named if name not in taken]
            name = max(gone, key=lambda one: float(self._named[one] @ centroid))
        self._named[name] = centroid
        return name
