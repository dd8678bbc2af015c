"""What was found in one recording: its turns, and what is known of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64

from diarize.formats.turns import annotated, exclusive, written_turns
from diarize.voices.number import possible
from diarize.voices.vectors import Voiceprints, rename
from diarize.voices.voiceprints import Match

if TYPE_CHECKING:
    from pyannote.core import Annotation, Segment


@dataclass(frozen=True, eq=False, repr=False)
class Diarization:
    """What was found in one recording.

    Attributes:
        annotation: who spoke when.
        speech: regions of speech, seconds.
        windows: how many windows were clustered.
        duration: seconds of audio that were read.
        device: what f ran on.
        notes: what a person should know.
        voices: what each speaker sounds like, by first appearance.
        matches: what each speaker has to do with voices that are known, or of other recordings;
            where a correction names a speaker, only that they are one of these.
        confidence: for each segment and track of the annotation, the probability that its speaker
            is heard at an instant drawn from it.
        number: how probable each number of speakers is; one is certain where it was told, and
            nothing is known where nobody asked.
        several: regions in which several were heard at once, seconds, be it found who they are or
            not; None: nobody listened for that.
    """

    annotation: Annotation
    speech: Float64[np.ndarray, "m 2"]
    windows: int
    duration: float
    device: str
    notes: tuple[str, ...] = ()
    voices: Voiceprints = field(default_factory=Voiceprints)
    matches: tuple[Match, ...] = ()
    confidence: Mapping[tuple[Segment, str], float] = field(default_factory=dict)
    number: Mapping[int, float] = field(default_factory=dict)
    several: Float64[np.ndarray, "s 2"] | None = None

    def __repr__(self) -> str:
        speakers = ", ".join(map(str, self.annotation.labels())) or "nobody"
        return f"<Diarization {self.annotation.uri}: {speakers} in {self.duration:.3f} s>"

    @property
    def possible(self) -> tuple[int, int]:
        """The least and the largest number of speakers that there may well be."""
        return possible(self.number, len(self.annotation.labels()))

    def renamed(self, names: Mapping[str, str]) -> Diarization:
        """Call the speakers otherwise; those without a new name keep theirs.

        Raises:
            InputError: two would have one name.
        """
        annotation, voices = rename(self.annotation, self.voices, names)
        matches = tuple(
            replace(match, speaker=names.get(match.speaker, match.speaker))
            for match in self.matches
        )
        return replace(self, annotation=annotation, voices=voices, matches=matches)

    def exclusive(self) -> Diarization:
        """Give each instant to one speaker, the one whose turn began first; to the millisecond."""
        turns = exclusive(written_turns(self.annotation, self.confidence))
        annotation, confidence = annotated(turns, self.annotation.uri, by_speaker=True)
        return replace(self, annotation=annotation, confidence=confidence)
