"""Who speaks when, by the speakers that a clustering found, and as corrections bind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from operator import eq
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Float32, Float64

from diarize.activity.counts import VoiceCounts
from diarize.confidence import confidences
from diarize.corrections import Corrections
from diarize.corrections.binding import Binding
from diarize.corrections.cells import split_cells
from diarize.corrections.links import carry_names, window_links
from diarize.corrections.speakers import correct_speakers
from diarize.refinement import largest_set, refine
from diarize.sets import SpeakerSets
from diarize.timeline import TimelineOptions, Turn, annotate, name_turns, tracks, turns
from diarize.voices.voiceprints import Match, Voiceprints, matches, name_speakers, voiceprints

if TYPE_CHECKING:
    from pyannote.core import Annotation, Segment

    from diarize.embedding import Knowledge
    from diarize.scatter import Likeness


@dataclass(frozen=True)
class Embedded:
    """A recording as clustering and decoding see it.

    Attributes:
        uri: its name.
        duration: seconds of audio that were read.
        speech: regions of speech, seconds.
        windows: begin and end of the windows that are clustered, seconds.
        coarse: their vectors.
        fine: vectors of those that are decoded.
        cells: the time for which each of the latter speaks, seconds.
        device: what f ran on.
        corrections: what a person says of the time that was read.
        unheard: vectors of the speech that only corrections know of.
        unheard_cells: the time for which each of these speaks, seconds.
        voices: how many were heard; None: nobody listened for that.
    """

    uri: str
    duration: float
    speech: Float64[np.ndarray, "m 2"]
    windows: Float64[np.ndarray, "windows 2"]
    coarse: Float32[np.ndarray, "windows p"]
    fine: Float32[np.ndarray, "n p"]
    cells: Float64[np.ndarray, "n 2"]
    device: str
    corrections: Corrections
    unheard: Float32[np.ndarray, "u p"]
    unheard_cells: Float64[np.ndarray, "u 2"]
    voices: VoiceCounts | None = None


@dataclass(frozen=True)
class Decoded:
    """Who speaks when in one recording.

    Attributes:
        turns: begin, end and number of the speaker.
        names: of the speakers who have turns.
        vectors: of windows.
        cells: the time for which each of them speaks, seconds.
        sets: who was decoded there.
        speakers: the fitted clustering, or what corrections made of its speakers.
        binding: what corrections say of the cells; None: there are none.
        matches: what each speaker has to do with known voices; of nobody where there are none.
        voices: how many were heard; None: nobody listened for that.
    """

    turns: list[Turn]
    names: Mapping[int, str]
    vectors: Float[np.ndarray, "n p"]
    cells: Float64[np.ndarray, "n 2"]
    sets: SpeakerSets
    speakers: Any
    binding: Binding | None = None
    matches: tuple[Match, ...] = ()
    voices: VoiceCounts | None = None

    def annotation(self, uri: str) -> Annotation:
        """The turns by name."""
        return annotate(self.turns, uri, self.names)

    def named_after(self, known: Voiceprints, likeness: Likeness) -> Decoded:
        """Call speakers who sound like known voices by their names.

        Args:
            known: the voices.
            likeness: of the embedding, and the least probability that two are one person.
        """
        found = voiceprints(self.annotation(""), self.cells, self.vectors)
        (called,) = name_speakers([found], known, likeness)
        now = replace(found, names=tuple(called[name] for name in found.names))
        return replace(
            self,
            names={n: called[name] for n, name in self.names.items()},
            matches=tuple(matches(now, known, eq, likeness)),
        )

    def confidence(
        self, options: TimelineOptions, knowledge: Knowledge
    ) -> dict[tuple[Segment, str], float]:
        """How sure each turn is, by its segment and track in the annotation."""
        sure = confidences(
            self.turns,
            self.vectors,
            self.cells,
            self.sets,
            self.speakers,
            options,
            knowledge,
            self.binding,
            self.voices,
        )
        return dict(zip(tracks(self.turns, self.names), sure.tolist(), strict=True))


def decode_turns(
    embedded: Embedded, estimator: Any, options: TimelineOptions, least: int = 0
) -> Decoded:
    """Say who speaks when by a fitted clustering alone.

    Args:
        embedded: the recording.
        estimator: the clustering; one that needs the truth was fitted to the windows that are
            decoded.
        options: of the decoding.
        least: so many speakers keep a turn.
    """
    vectors, cells = embedded.fine, embedded.cells
    if estimator.needs_truth:
        refined, sets = cells, estimator.sets_
    else:
        refined, sets = refine(vectors, cells, estimator, options, voices=embedded.voices)
    found = turns(refined, sets, options, least, most=largest_set(estimator))
    return Decoded(
        found, name_turns(found), vectors, cells, sets, estimator, voices=embedded.voices
    )


def decode_corrected(
    free: Decoded,
    embedded: Embedded,
    options: TimelineOptions,
    least: int = 0,
    most: int | None = None,
) -> Decoded:
    """Say who speaks when such that the corrections hold.

    Speakers who are not corrected keep the names that they have without corrections.

    Args:
        free: what was found without corrections.
        embedded: the recording and its corrections.
        options: of the decoding.
        least: fewest speakers.
        most: largest number of speakers; None: any.

    Raises:
        InputError: corrections name more people than there may be speakers.
    """
    corrections, n_heard = embedded.corrections, len(embedded.cells)
    estimator, before = free.speakers, free.names
    if estimator.takes_links:
        estimator, before = _linked(estimator, before, embedded)
    cells, rows = split_cells(
        np.concatenate([embedded.cells, embedded.unheard_cells]), corrections.borders
    )
    vectors = np.concatenate([embedded.fine, embedded.unheard])[rows]
    speakers = correct_speakers(
        corrections, cells, vectors.astype(np.float64), estimator, before, least, most
    )
    names = _complete(speakers.names)
    binding = Binding.of(corrections, cells, names).holding_nobody_else(rows >= n_heard)
    if estimator.needs_truth:
        truth = np.zeros((n_heard + len(embedded.unheard), estimator.n_speakers_), bool)
        truth[:n_heard] = estimator.sets_.membership
        true = np.zeros((len(rows), len(names)), bool)
        for speaker, own in enumerate(speakers.clusters):
            true[:, speaker] = truth[rows][:, own].any(axis=1)
        refined, sets = cells, SpeakerSets((true | binding.required) & ~binding.forbidden)
    else:
        refined, sets = refine(
            vectors,
            cells,
            speakers,
            options,
            everybody=least > 0,
            binding=binding,
            voices=embedded.voices,
        )
    heard = turns(refined, sets, options, least, binding.told, largest_set(speakers))
    found = corrections.patch(heard, names)
    return Decoded(
        found,
        dict(enumerate(names)),
        vectors,
        cells,
        sets,
        speakers,
        binding,
        free.matches,
        embedded.voices,
    )


def _linked(
    estimator: Any, names: Mapping[int, str], embedded: Embedded
) -> tuple[Any, Mapping[int, str]]:
    """The clustering anew, which knows of corrected windows, and what its speakers are called."""
    from sklearn.base import clone

    must, cannot = window_links(embedded.corrections, embedded.windows)
    if not len(must) and not len(cannot):
        return estimator, names
    again = clone(estimator).fit(embedded.coarse, must_link=must, cannot_link=cannot)
    return again, carry_names(estimator.sets_, names, again.sets_)


def _complete(names: tuple[str | None, ...]) -> list[str]:
    """Call who has no name by the first numbers that are free."""
    free = (name for n in range(2 * len(names)) if (name := f"SPEAKER_{n:02d}") not in names)
    return [next(free) if name is None else name for name in names]
