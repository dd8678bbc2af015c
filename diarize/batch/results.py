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
    from diarize.voices.voiceprints import Voiceprints


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

    def compared(
        self, all_of_them: Sequence[Result], known: Voiceprints | None, likeness: Likeness
    ) -> Result:
        """Say of each speaker which voice he is, or is most like: a known one, or elsewhere."""
        from diarize.voices.voiceprints import Voiceprints, join, matches

        elsewhere = [
            replace(
                voices,
                names=tuple(f"{name} of {other.recording.uri}" for name in voices.names),
            )
            for other in all_of_them
            if other is not self and (voices := other.found.voices)
        ]
        others = join([known or Voiceprints(), *elsewhere])

        def same(speaker: str, voice: str) -> bool:
            return voice == speaker or voice.startswith(f"{speaker} of ")

        told = tuple(matches(self.found.voices, others, same, likeness))
        return replace(self, found=replace(self.found, matches=told))


def name_across(
    results: Sequence[Result], known: Voiceprints | None, likeness: Likeness
) -> list[Result]:
    """Give each person one name in all results.

    Args:
        results: of all recordings of a run.
        known: voices to be called by name; None: nobody's.
        likeness: of the embedding, and the least probabilities that two are one person.
    """
    from diarize.voices.voiceprints import name_speakers

    called = name_speakers([result.found.voices for result in results], known, likeness)
    renamed = [result.renamed(names) for result, names in zip(results, called, strict=True)]
    return [result.compared(renamed, known, likeness) for result in renamed]


def write_voices(
    path: Path, results: Sequence[Result], diarizer: Diarizer, *, linked: bool
) -> None:
    """Write the voices of all speakers of some recordings.

    Args:
        path: of the file.
        results: under their final names.
        diarizer: whose model was used.
        linked: whether one name is one person in all recordings.
    """
    from diarize.formats.embeddings import Embeddings
    from diarize.formats.speakers import Speakers, write_speakers

    found = [result.found for result in results]
    rows = [one.voices.centroids for one in found if one.voices.names]
    model = Embeddings(
        np.concatenate(rows) if rows else np.zeros((0, 0), np.float32),
        str(diarizer.model),
        diarizer.model_sha256,
    )
    who = [(name, one.annotation) for one in found for name in one.voices.names]
    seconds = [turns.label_timeline(name).support().duration() for name, turns in who]
    write_speakers(
        path,
        Speakers(
            model,
            tuple(name for name, _ in who),
            tuple(turns.uri for _, turns in who),
            np.array(seconds, np.float64),
            linked,
        ),
    )
