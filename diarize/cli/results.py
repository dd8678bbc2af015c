"""From a recording to its result, and from the result to its files and the summary."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from diarize.cli.messages import error, explain, is_silent, note

if TYPE_CHECKING:
    from pyannote.core import Annotation

    from diarize.activity.counts import Hook
    from diarize.audio import Recording
    from diarize.cli.gather import Entry
    from diarize.cli.targets import Targets
    from diarize.diarization import Diarization
    from diarize.pipeline import Diarizer
    from diarize.scatter import Likeness
    from diarize.voices.voiceprints import Voiceprints


@dataclass
class Failures:
    """Lets one bad input of several not stop the others.

    Attributes:
        several: whether there are others.
        inputs: those that failed.
    """

    several: bool
    inputs: list[str] = field(default_factory=list)

    @contextmanager
    def of(self, source: str) -> Iterator[None]:
        """Say what goes wrong with an input and go on; with a single one, let it be raised."""
        try:
            yield
        except BrokenPipeError:
            raise  # nobody reads the results any more
        except Exception as problem:
            if not self.several:
                raise
            error(explain(problem)[1])
            if source not in self.inputs:
                self.inputs.append(source)

    def sum_up(self, total: int, unchanged: int) -> None:
        """Say how many of all inputs failed, and how many were left as they are."""
        if unchanged:
            note(f"{unchanged} of {total} unchanged since an earlier run (--again: hear them too)")
        if self.inputs:
            error(f"{len(self.inputs)} of {total} failed: {', '.join(self.inputs)}")


@dataclass(frozen=True)
class Result:
    """What was found in one recording, and how long that took, seconds."""

    entry: Entry
    recording: Recording
    found: Diarization
    elapsed: float
    truth: Annotation | None = None  # its true turns, if they were told

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


@dataclass(frozen=True)
class Told:
    """What is told of one recording; None: nothing."""

    truth: Annotation | None = None
    corrections: Annotation | None = None
    known: Voiceprints | None = None


def run_one(
    diarizer: Diarizer, entry: Entry, recording: Recording, told: Told, hook: Hook | None
) -> Result:
    """Diarize a recording."""
    began = perf_counter()
    found = diarizer.diarize(
        recording, hook, reference=told.truth, corrections=told.corrections, known=told.known
    )
    return Result(entry, recording, found, perf_counter() - began, told.truth)


def run_channels(
    diarizer: Diarizer, entry: Entry, recording: Recording, told: Told, hook: Hook | None
) -> Result:
    """Diarize a recording that has a microphone for each speaker."""
    from diarize.batch.multitrack import diarize_channels

    assert callable(diarizer.activity)
    began = perf_counter()
    found = diarize_channels(recording, diarizer.activity, diarizer.timeline, hook)
    return Result(entry, recording, found, perf_counter() - began, told.truth)


def deliver(result: Result, options: Mapping[str, Any], targets: Targets) -> list[Path]:
    """Write a result, with clips and web page if they are wanted, and say what was found.

    Args:
        result: of one recording.
        options: with which it was found, for formats that tell them.
        targets: where it goes.

    Returns:
        The files that were written.
    """
    from diarize.cli.summary import print_summary
    from diarize.formats import FORMATS
    from diarize.formats.table import Beside
    from diarize.report.clips import cut_clips

    found = result.found
    source = Path(result.entry.source)
    beside = Beside(
        notes=found.notes,
        end=result.recording.file_duration,
        media=source if source.is_file() else None,
    )
    texts = {
        name: FORMATS[name].write(found.annotation, options, found.confidence, beside)
        for name in targets.formats
    }
    place = result.entry.beside(result.recording.uri)
    written = targets.write(place, texts)
    clips = targets.clips_of(place)
    if clips is not None:
        written += cut_clips(result.recording, found.annotation, clips)
    page = targets.page_of(place)
    if page is not None:
        written.append(_write_page(result, page))
    for text in [*found.notes, *map(str, found.matches)]:
        note(f"{result.recording.label}: {text}")
    if not is_silent():
        print_summary(found, result.elapsed)
    return written


def _write_page(result: Result, page: Path) -> Path:
    from diarize.report.html import write_page

    page.parent.mkdir(parents=True, exist_ok=True)
    write_page(
        page,
        result.recording,
        result.found.annotation,
        confidence=result.found.confidence,
        reference=result.truth,
    )
    return page


def deliver_linked(
    results: Sequence[Result],
    known: Voiceprints | None,
    options: Mapping[str, Any],
    targets: Targets,
    failures: Failures,
    likeness: Likeness,
) -> list[Result]:
    """Give each person one name in all results, and deliver them.

    Args:
        results: of all recordings of a run.
        known: voices to be called by name; None: nobody's.
        options: with which they were found.
        targets: where they go.
        failures: takes in what goes wrong.
        likeness: of the embedding, and the least probabilities that two are one person.

    Returns:
        The results under their final names.
    """
    from diarize.voices.voiceprints import name_speakers

    called = name_speakers([result.found.voices for result in results], known, likeness)
    renamed = [result.renamed(names) for result, names in zip(results, called, strict=True)]
    renamed = [result.compared(renamed, known, likeness) for result in renamed]
    for result in renamed:
        with failures.of(result.entry.source):
            deliver(result, options, targets)
    return renamed
