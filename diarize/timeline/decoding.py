"""Speakers and windows to turns: decode over time, take the speakers anew, decode again.

A state's cost in a cell is the squared distance of the cell's window from where the state lies. The
windows may be others than those that were clustered: long ones tell voices apart, short ones tell
when they change.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from operator import eq
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Float, Float32, Float64, Int64

from diarize.activity.counts import VoiceCounts
from diarize.repetition import novelty
from diarize.scatter import Likeness, Scatter
from diarize.sets import Speakers, SpeakerSets, to_sphere
from diarize.timeline.borders import move_borders
from diarize.timeline.paths import best_path
from diarize.timeline.trellis import TimelineOptions, Trellis
from diarize.timeline.turns import Turn, in_scraps, name_turns, turns
from diarize.voices.vectors import Monologues, Voiceprints
from diarize.voices.voiceprints import Match, free_names, identify, log_odds, matches

if TYPE_CHECKING:
    from pyannote.core import Annotation, Segment

ROUNDS = 3  # of centroids and decoding


class Heard(NamedTuple):
    """How probable it is that each speaker is heard, as the network says."""

    slices: Float64[np.ndarray, "n 2"]  # of time, seconds
    probable: Float32[np.ndarray, "n k"]  # of each speaker, by number


@dataclass(frozen=True)
class Decoded:
    """Who speaks when in one recording."""

    turns: list[Turn]  # begin, end and number of the speaker
    names: Mapping[int, str]  # of the speakers who have turns
    trellis: Trellis  # in which they were decoded
    sets: SpeakerSets  # who was decoded in each of its cells
    speakers: Speakers  # among whom was decoded
    heard: Heard | None = None  # what the network heard of them; None: it was not asked

    @property
    def tracks(self) -> list[tuple[Segment, str]]:
        """Where each turn stands in the annotation: segment and track, named as its speaker."""
        from pyannote.core import Segment

        return [(Segment(begin, end), self.names[who]) for begin, end, who in self.turns]

    @cached_property
    def monologues(self) -> Monologues:
        """What each speaker says alone."""
        heard = self.trellis
        return Monologues.of(self.annotation(""), heard.cells, heard.of_voices, heard.novelty)

    def annotation(self, uri: str) -> Annotation:
        """The turns by name."""
        from pyannote.core import Annotation

        annotation = Annotation(uri=uri)
        for segment, name in self.tracks:
            annotation[segment, name] = name
        return annotation

    def named_after(self, known: Voiceprints, likeness: Likeness, narrow: bool = False) -> Decoded:
        """Call speakers who sound like known voices by their names; the band may be narrow.

        The others keep their numbers, unless a known voice bears one.
        """
        voices = self.monologues.voiceprints(narrow)
        given = identify(voices, known, likeness)
        free = free_names({*voices.names, *known.names})
        called = {
            name: given.get(name) or (next(free) if name in known.names else name)
            for name in voices.names
        }
        return replace(self, names={number: called[name] for number, name in self.names.items()})

    def matches(self, known: Voiceprints, likeness: Likeness, narrow: bool = False) -> list[Match]:
        """What speakers, by the names that they have, have to do with known voices."""
        voices = self.monologues.voiceprints(narrow)
        return matches(voices, known, eq, log_odds(voices, known, likeness))


def decoder(
    cells: Float64[np.ndarray, "n 2"],
    vectors: Float[np.ndarray, "n p"],
    counts: VoiceCounts | None,
    options: TimelineOptions,
    least: int = 0,
    everybody: bool = True,
) -> Callable[[Any], Decoded]:
    """What decodes windows among the speakers of a fitted clustering; arguments as for `decode`."""

    @cache
    def repeated(scatter: Scatter, n_clustered: int) -> Float64[np.ndarray, " n"]:
        return novelty(vectors, scatter.denser(len(vectors) / n_clustered))

    def decoded(estimator: Any) -> Decoded:
        speakers, said = estimator.speakers(), None
        known = estimator.scatter if speakers.told is None else None
        if everybody and known is not None and len(estimator.sets_):
            said = repeated(known, len(estimator.sets_))
        trellis = Trellis.of(cells, vectors, speakers.sets(), counts, options, said)
        return decode(trellis, speakers, least, everybody)

    return decoded


def decode(
    trellis: Trellis,
    speakers: Speakers,
    least: int = 0,
    everybody: bool = True,
) -> Decoded:
    """Say who speaks when.

    Args:
        trellis: what was heard of a recording, and what is known of it.
        speakers: who may speak there; where their sets are told, these hold.
        least: so many speakers keep a turn.
        everybody: whether each speaker speaks in these cells; False: they are a part of what was
            clustered, or somebody's word stands above it, and somebody may be silent there.
    """
    cells, n = trellis.cells, len(trellis.cells)
    if speakers.told is not None:
        sets = speakers.told
    elif not len(speakers) or not n:
        sets = SpeakerSets(np.zeros((n, 0), bool))
    else:
        path, costs = _rounds(trellis, speakers, everybody)
        sets, cells = trellis.states[path], move_borders(trellis, costs, path)
    bounds = trellis.options, least, trellis.settled, speakers.largest
    found = turns(cells, sets, *bounds)
    if everybody and speakers.told is None and (nobody := in_scraps(found, least)):
        found = turns(cells, sets, *bounds, nobody)
    return Decoded(found, name_turns(found), trellis, sets, speakers)


def _rounds(
    trellis: Trellis, speakers: Speakers, everybody: bool
) -> tuple[Int64[np.ndarray, " n"], Float64[np.ndarray, "n m"]]:
    """Decode and take the centroids anew by turns: the last path, and the costs it was found by."""
    states = trellis.states
    for i in range(ROUNDS):
        costs = trellis.costs(speakers.places(states))  # (n, m)
        path = best_path(trellis.cells, costs, states, trellis.options)  # (n,)
        if everybody:
            path = _keep_everybody(path, costs, states)
        if i + 1 < ROUNDS:
            speakers = heard_alone(trellis.vectors, states[path], speakers)
    return path, costs


def heard_alone(
    vectors: Float[np.ndarray, "n p"], sets: SpeakerSets, speakers: Speakers
) -> Speakers:
    """The speakers where the windows lie, on average, that each holds alone; on the sphere.

    Who is never alone stays where he is.

    Args:
        vectors: of the windows.
        sets: whom each of them holds.
        speakers: where they were before.
    """
    alone = sets.membership & (sets.sizes == 1)[:, None]  # (n, k)
    sums = alone.T.astype(np.float64) @ vectors.astype(np.float64)  # (k, p)
    known = sums.any(axis=1, keepdims=True)  # (k, 1)
    return replace(speakers, centroids=np.where(known, to_sphere(sums), speakers.centroids))


def _keep_everybody(
    path: Int64[np.ndarray, " n"], costs: Float64[np.ndarray, "n m"], states: SpeakerSets
) -> Int64[np.ndarray, " n"]:
    """Give a speaker whom the decoding left out the cell in which that costs least."""
    absent = np.flatnonzero(~states.membership[path].any(axis=0))
    if len(absent):
        path = path.copy()
        regret = costs - costs[np.arange(len(path)), path][:, None]  # (n, m)
        for speaker in absent:  # singletons are the first states
            cell = regret[:, speaker].argmin()
            if np.isfinite(regret[cell, speaker]):
                path[cell] = speaker
            regret[cell] = np.inf  # no other absent speaker takes it
    return path
