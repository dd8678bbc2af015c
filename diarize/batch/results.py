"""What was found in recordings, and the names of the people in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from diarize.batch.jobs import Job

if TYPE_CHECKING:
    from pyannote.core import Annotation

    from diarize.audio import Recording
    from diarize.pipeline import Diarizer
    from diarize.scatter import Likeness
    from diarize.timeline import Diarization
    from diarize.voices.vectors import Voiceprints


@dataclass(frozen=True)
class Result:
    """What was found in one recording of a job, and how long that took, seconds."""

    job: Job
    recording: Recording
    found: Diarization
    elapsed: float
    truth: Annotation | None = None  # its true turns, if they were told

    @property
    def notes(self) -> list[str]:
        """What a person should know of it, a line each."""
        said = [*self.found.notes, *map(str, self.found.matches)]
        return [f"{self.recording.label}: {text}" for text in said]

    def renamed(self, names: Mapping[str, str]) -> Result:
        """Call the speakers otherwise."""
        return replace(self, found=self.found.renamed(names))


def name_across(
    results: Sequence[Result], known: Voiceprints | None, likeness: Likeness
) -> list[Result]:
    """Give each person one name in all results."""
    from diarize.voices.vectors import Voiceprints, join
    from diarize.voices.voiceprints import log_odds_across, matches, name_speakers

    called = name_speakers([result.found.voices for result in results], known, likeness)
    renamed = [result.renamed(names) for result, names in zip(results, called, strict=True)]
    voices = [known or Voiceprints()]
    for result in renamed:
        own, uri = result.found.voices, result.recording.uri
        voices.append(replace(own, names=tuple(f"{name} of {uri}" for name in own.names)))
    everybody = join(voices)
    odds = log_odds_across(everybody, likeness)

    def same(speaker: str, voice: str) -> bool:
        return voice == speaker or voice.startswith(f"{speaker} of ")

    compared, end = [], len(voices[0].names)
    for result in renamed:
        begin, end = end, end + len(result.found.voices.names)
        elsewhere = [row for row in range(len(everybody.names)) if not begin <= row < end]
        odds_elsewhere = odds[begin:end, elsewhere]
        told = matches(result.found.voices, everybody[elsewhere], same, odds_elsewhere)
        compared.append(replace(result, found=replace(result.found, matches=tuple(told))))
    return compared


def write_voices(
    path: Path, results: Sequence[Result], diarizer: Diarizer, *, linked: bool
) -> None:
    """Write the voices of all speakers; `linked`: one name is one person in all recordings."""
    from diarize.formats.embeddings import Embeddings
    from diarize.formats.speakers import SpeakerArchive, write_speakers
    from diarize.voices.vectors import join

    found = [result.found for result in results]
    voices = join([one.voices for one in found])
    model = Embeddings(
        voices.centroids,
        str(diarizer.model),
        diarizer.model_sha256,
    )
    who = [(name, one.annotation) for one in found for name in one.voices.names]
    seconds = [turns.label_timeline(name).support().duration() for name, turns in who]
    write_speakers(
        path,
        SpeakerArchive(
            model,
            tuple(name for name, _ in who),
            tuple(turns.uri for _, turns in who),
            np.array(seconds, np.float64),
            linked,
            voices.narrowed,
        ),
    )
